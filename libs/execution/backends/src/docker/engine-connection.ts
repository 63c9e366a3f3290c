import { readFileSync } from 'node:fs';
import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fields } from '#execution/runner';
import { parseJson } from '#platform/kernel';

export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** Options of runner containers: the settings of the same names, see docs/operations/docker-executor.md. */
export interface DockerOptions {
  readonly dockerHost: EngineAddress;
  /** Directory of ca.pem, cert.pem and key.pem; empty: no TLS. */
  readonly dockerCertPath: string;
  readonly dockerPull: 'missing' | 'always' | 'never';
  readonly dockerPullTimeout: number;
  /** Empty: no registry credentials. */
  readonly dockerAuthFile: string;
  readonly dockerMemoryBytes: number;
  readonly dockerCpus: number;
  readonly dockerPids: number;
  /** 0: none. */
  readonly dockerDiskBytes: number;
  readonly dockerNetwork: string;
  /** Empty: the image's. */
  readonly dockerUser: string;
  /** OCI runtime; empty: the engine's. */
  readonly dockerRuntime: string;
  /** Directory or volume with the runner's files on the engine's machine; empty: the files of this process. */
  readonly dockerRunnerSource: string;
}

const MAX_MESSAGE = 1000;

/** The engine rejected the request; the message is from the engine. */
export class EngineError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message);
    this.name = 'EngineError';
  }
}

/** No response from the engine: it is not running, not reachable, or too slow. */
export class EngineUnreachable extends Error {
  override name = 'EngineUnreachable';
}

export function isMissing(error: unknown): boolean {
  return error instanceof EngineError && error.status === 404;
}

const MAX_ANSWER_BYTES = 16 * 1_048_576;
const MAX_ERROR_BYTES = 65_536;
const KEEP_ALIVE_MS = 30_000;

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON; a buffer as a tar archive. */
  readonly body?: object | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Until the response begins; 0: without limit. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export class EngineConnection {
  private readonly options: RequestOptions;
  private readonly isTls: boolean;

  constructor({ dockerHost, dockerCertPath }: Pick<DockerOptions, 'dockerHost' | 'dockerCertPath'>) {
    this.isTls = dockerHost.kind === 'tcp' && dockerCertPath !== '';
    const read = (name: string): Buffer => readFileSync(join(dockerCertPath, name));
    this.options =
      dockerHost.kind === 'socket'
        ? { socketPath: dockerHost.path }
        : {
            host: dockerHost.host,
            port: dockerHost.port,
            ...(this.isTls ? { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') } : {}),
          };
  }

  /** The complete response. Rejects with EngineError for a status of 400 or above, with EngineUnreachable without a response. */
  async call(request: EngineRequest): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> {
    const response = await this.open(request);
    const { timeoutMs } = request;
    const timer =
      timeoutMs === 0 ? undefined : setTimeout(() => response.destroy(new Error(timeoutMessage(timeoutMs))), timeoutMs);
    const body = await textOf(response, MAX_ANSWER_BYTES).finally(() => clearTimeout(timer));
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  }

  /** The response as a stream. Rejects like {@link call}. */
  async open(request: EngineRequest): Promise<IncomingMessage> {
    const { response } = await this.send(request);
    if (!response) throw new EngineError(101, 'The engine switched protocols without a request.');
    return response;
  }

  /** Upgrades the connection to a raw socket. Rejects like {@link call}. */
  async hijack(request: EngineRequest): Promise<{ socket: Socket; head: Buffer }> {
    const { upgraded, response } = await this.send({
      ...request,
      headers: { ...request.headers, connection: 'Upgrade', upgrade: 'tcp' },
    });
    if (upgraded) return upgraded;
    response?.destroy();
    throw new EngineError(response?.statusCode ?? 0, 'The engine did not upgrade the connection.');
  }

  private async send({ method, path, query, body, headers, timeoutMs, signal }: EngineRequest): Promise<{
    response?: IncomingMessage;
    upgraded?: { socket: Socket; head: Buffer };
  }> {
    const content = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const search = query ? `?${new URLSearchParams(query).toString()}` : '';
    return new Promise((resolve, reject) => {
      const request = (this.isTls ? httpsRequest : httpRequest)({
        ...this.options,
        method,
        path: `${path}${search}`,
        agent: false,
        ...(signal && { signal }),
        headers: {
          // A socket has no host name; otherwise the certificate is checked against it.
          ...('socketPath' in this.options ? { host: 'docker' } : {}),
          ...(content === undefined
            ? {}
            : {
                'content-type': Buffer.isBuffer(body) ? 'application/x-tar' : 'application/json',
                'content-length': content.length,
              }),
          ...headers,
        },
      });
      const timer =
        timeoutMs === 0
          ? undefined
          : setTimeout(() => request.destroy(new Error(timeoutMessage(timeoutMs))), timeoutMs);
      request.once('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
      // Never removed: a connection that breaks later must not cause an uncaught error.
      request.on('error', (error) => {
        clearTimeout(timer);
        reject(new EngineUnreachable(reasonOf(error)));
      });
      request.once('upgrade', (_response, socket, head) => {
        clearTimeout(timer);
        resolve({ upgraded: { socket, head } });
      });
      request.once('response', (response) => {
        clearTimeout(timer);
        const status = response.statusCode ?? 0;
        if (status < 400) return resolve({ response });
        textOf(response, MAX_ERROR_BYTES).then((text) => reject(new EngineError(status, messageOf(text))), reject);
      });
      request.end(content);
    });
  }
}

const timeoutMessage = (timeoutMs: number): string => `no response within ${timeoutMs} ms`;

/** Rejects when the response is incomplete or too long. */
async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new Error(`an answer of more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw new EngineUnreachable(reasonOf(error));
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A proxy in between may answer with another text than the engine. */
function messageOf(text: string): string {
  const { message } = fields(parseJson(text));
  return typeof message === 'string' ? message : text.trim();
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error.message.includes(code) ? error.message : `${error.message} (${code})`;
}
