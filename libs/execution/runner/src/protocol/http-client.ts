import { Agent, type ClientRequest, type IncomingMessage, request as sendHttp } from 'node:http';
import { pipeline, type Readable } from 'node:stream';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** An array: parts of the body. */
  readonly body?: string | Uint8Array | readonly Uint8Array[] | Readable | undefined;
  /** Milliseconds until the whole response must have arrived. */
  readonly timeoutMs: number;
  /** Each ends the request. */
  readonly signals: readonly AbortSignal[];
}

export interface HttpResponse {
  /** Redirects are not followed. */
  readonly status: number;
  readonly body: Buffer;
}

interface Client {
  readonly agent: Agent;
  readonly send: typeof sendHttp;
}

/** Connections that are not in use do not keep the process alive. */
const http: Client = { agent: new Agent({ keepAlive: true }), send: sendHttp };
let https: Promise<Client> | undefined;

/** Loaded for its first request: many runners call a server on the same machine. */
function loadHttps(): Promise<Client> {
  return (https ??= import('node:https').then(({ Agent: SecureAgent, request }) => ({
    agent: new SecureAgent({ keepAlive: true }),
    send: request,
  })));
}

/**
 * Sends one request and reads the whole response. Rejects when there is no complete response. A runner must start quickly
 * and stay small: the client of `fetch` needs several milliseconds and megabytes more in each process.
 */
export async function sendRequest(options: HttpRequest): Promise<HttpResponse> {
  const { method, url, headers, body, timeoutMs, signals } = options;
  const { agent, send } = url.protocol === 'https:' ? await loadHttps() : http;
  return new Promise((resolve, reject) => {
    const parts = partsOf(body);
    const length = parts && { 'content-length': String(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0)) };
    const request = send(url, { method, agent, headers: { ...headers, ...length } });
    const release = endOn(request, timeoutMs, signals);
    const fail = (error: unknown): void => {
      release();
      reject(error instanceof Error ? error : new Error(String(error)));
    };
    request.on('error', fail);
    request.on('response', (response) => {
      readBody(response).then((bytes) => {
        release();
        resolve({ status: response.statusCode ?? 0, body: bytes });
      }, fail);
    });
    if (parts) {
      for (const part of parts) request.write(part);
      request.end();
    } else if (body === undefined) request.end();
    else pipeline(body as Readable, request, (error) => error && fail(error));
  });
}

/** Null: there is no body, or its length is not known. */
function partsOf(body: HttpRequest['body']): readonly (string | Uint8Array)[] | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return [body];
  return Array.isArray(body) ? (body as readonly Uint8Array[]) : null;
}

function endOn(request: ClientRequest, timeoutMs: number, signals: readonly AbortSignal[]): () => void {
  const abort = (): void => void request.destroy(new Error('The request was aborted.'));
  const timer = setTimeout(
    () => request.destroy(new Error(`There was no response within ${Math.ceil(timeoutMs)} ms.`)),
    Math.ceil(timeoutMs),
  );
  for (const signal of signals)
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  return () => {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
