import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { readFile } from 'node:fs/promises';
import type { KubeConfig, V1Pod } from '@kubernetes/client-node';
import { parseJson } from '#platform/kernel';
import { BackendFault } from '../backend.js';

const REQUEST_TIMEOUT_MS = 15_000;
/** The server ends a watch after this time, so that one whose connection was lost without a sign is replaced. */
const WATCH_SECONDS = 240;
const WATCH_EXTRA_MS = 15_000;
const KEEP_ALIVE_MS = 30_000;
/** Written by Kubernetes into every pod with a service account. */
const OWN_NAMESPACE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** The API server did not answer. */
export class KubernetesUnreachable extends Error {
  override name = 'KubernetesUnreachable';
}

/** The API server has rejected a request. `reason`: the machine-readable word of its Status, such as `AlreadyExists`. */
export class KubernetesError extends Error {
  override name = 'KubernetesError';

  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: V1Pod }
  | {
      readonly type: 'ERROR';
      readonly object: { readonly code: number; readonly reason: string; readonly message: string };
    };

export interface KubernetesRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
}

/** Requests to one API server, with the credentials of a kubeconfig file or of the pod of this process. */
export class KubernetesConnection {
  private constructor(
    private readonly config: KubeConfig,
    private readonly server: URL,
    /** Where the objects of this backend are. */
    readonly namespace: string,
  ) {}

  /**
   * @param kubeconfig a file; empty: KUBECONFIG, the file of the home directory, or the service account of this pod.
   * @param namespace empty: that of the context, or of this pod. Rejects with a BackendFault when there is no cluster.
   */
  static async load(kubeconfig: string, namespace: string): Promise<KubernetesConnection> {
    // It is large, so that only processes that use a cluster load it.
    const { KubeConfig } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    try {
      if (kubeconfig === '') config.loadFromDefault();
      else config.loadFromFile(kubeconfig);
    } catch (error) {
      throw new BackendFault(`The kubeconfig file cannot be used: ${messageOf(error)}`);
    }
    const cluster = config.getCurrentCluster();
    if (cluster === null)
      throw new BackendFault(
        'No cluster is configured: set KUBECONFIG, or run this process in a pod with a service account.',
      );
    const context = config.getContextObject(config.getCurrentContext());
    const own = context?.namespace ?? (await ownNamespace()) ?? 'default';
    return new KubernetesConnection(config, new URL(cluster.server), namespace === '' ? own : namespace);
  }

  get address(): string {
    return this.server.origin;
  }

  /** Rejects with KubernetesUnreachable without an answer, and with KubernetesError when the server rejects the request. */
  async call<T>(request: KubernetesRequest): Promise<T> {
    return answerOf<T>(await this.send(request));
  }

  /** Resolves with undefined when the object does not exist. */
  async find<T>(request: KubernetesRequest): Promise<T | undefined> {
    return this.call<T>(request).catch((error: unknown) => {
      if (error instanceof KubernetesError && error.status === 404) return undefined;
      throw error;
    });
  }

  /** Watches pods. Resolves when the server has ended the watch, which it does after a few minutes. Rejects like {@link call}. */
  async watch(
    path: string,
    query: Readonly<Record<string, string>>,
    onEvent: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const limits = { watch: true, allowWatchBookmarks: true, timeoutSeconds: WATCH_SECONDS };
    const response = await this.send({ method: 'GET', path, query: { ...query, ...limits } });
    if (response.statusCode !== 200) await answerOf(response);
    // Alone it does not keep the process alive.
    response.socket.unref();
    const stop = (): void => void response.destroy();
    const timer = setTimeout(stop, WATCH_SECONDS * 1000 + WATCH_EXTRA_MS).unref();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      let rest = '';
      response.setEncoding('utf8');
      for await (const chunk of response as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) onEvent(JSON.parse(line) as WatchEvent);
      }
    } catch (error) {
      if (!signal.aborted) throw new KubernetesUnreachable(messageOf(error));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  private async send({ method, path, query, body }: KubernetesRequest): Promise<IncomingMessage> {
    const url = new URL(this.server.pathname.replace(/\/$/, '') + path, this.server);
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, String(value));
    const content = body === undefined ? '' : JSON.stringify(body);
    const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) };
    const headers = { accept: 'application/json', ...(body === undefined ? {} : type) };
    const options: RequestOptions = { method, headers };
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.config.applyToHTTPSOptions(options);
      const call = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options);
      // Never removed: it may be emitted after the response has begun, whose reader reports it.
      call.on('error', () => undefined);
      timer = setTimeout(
        () => call.destroy(new Error(`no answer within ${REQUEST_TIMEOUT_MS} ms`)),
        REQUEST_TIMEOUT_MS,
      );
      call.end(content);
      const [response] = (await once(call, 'response')) as [IncomingMessage];
      // A lost connection without a sign ends a watch early.
      response.socket.setKeepAlive(true, KEEP_ALIVE_MS);
      return response;
    } catch (error) {
      throw new KubernetesUnreachable(messageOf(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

async function ownNamespace(): Promise<string | undefined> {
  const text = await readFile(OWN_NAMESPACE, 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : text.trim();
}

async function answerOf<T>(response: IncomingMessage): Promise<T> {
  const timer = setTimeout(() => response.destroy(new Error('the answer is incomplete')), REQUEST_TIMEOUT_MS);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw new KubernetesUnreachable(messageOf(error));
  } finally {
    clearTimeout(timer);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const answer = parseJson(text) as { reason?: string; message?: string } | undefined;
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300 && answer !== undefined) return answer as T;
  throw new KubernetesError(status, answer?.reason ?? '', answer?.message ?? `The server answered with ${status}.`);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
