import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fields } from '#execution/runner';
import WebSocket from 'ws';
import type { HostLog } from '#execution/backends';
import {
  HELLO_HEADER,
  MAX_FRAME_BYTES,
  parseServerFrame,
  type ServerFrame,
  type WorkerFrame,
} from '#execution/worker-protocol';
import { WorkerFault } from './worker-fault.js';
import type { WorkerOptions } from './options/read-worker-options.js';

const FIRST_PAUSE_MS = 500;
const HANDSHAKE_MS = 10_000;
const GOING_AWAY = 1001;
/** After a connection of this duration the delay of the next attempt starts from its minimum. */
const STABLE_MS = 10_000;

export interface ConnectionEvents {
  opened(): void;
  frame(frame: ServerFrame): void;
  /** The server has received everything that was sent before {@link Connection.mark} returned this number. */
  confirmed(mark: number): void;
  closed(reason: string): void;
}

/** Why there is no connection: the next attempt may succeed, or the server permanently rejects this worker. */
type Ended =
  | { readonly kind: 'closed'; readonly reason: string }
  | { readonly kind: 'refused'; readonly fault: WorkerFault };

export class Connection {
  private socket: WebSocket | null = null;
  private readonly stopping = new AbortController();
  private lastMark = 0;

  constructor(
    private readonly options: Pick<WorkerOptions, 'workerId' | 'apiKey' | 'webSocketUrl' | 'connection'>,
    private readonly events: ConnectionEvents,
    private readonly log: HostLog,
  ) {}

  /** Stays connected. Resolves after {@link stop}, or with a fault when the server permanently rejects this worker. */
  async run(): Promise<WorkerFault | null> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      const startedAt = performance.now();
      const ended = await this.connectOnce();
      if (ended.kind === 'refused') return ended.fault;
      if (signal.aborted) break;
      failures = performance.now() - startedAt > STABLE_MS ? 0 : failures + 1;
      const waitMs = this.backoff(failures);
      this.log.warn('not connected', { reason: ended.reason, retry_in_ms: Math.round(waitMs) });
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
    return null;
  }

  /** Whether the frame was handed to the network. Never rejects. */
  send(frame: WorkerFrame): Promise<boolean> {
    const { socket } = this;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) => {
      socket.send(JSON.stringify(frame), (error) => resolve(error === undefined || error === null));
    });
  }

  /** Sends a numbered ping; its pong, {@link ConnectionEvents.confirmed}, means that the server received everything before it. */
  mark(): number {
    this.lastMark += 1;
    const { socket } = this;
    if (socket?.readyState === WebSocket.OPEN) socket.ping(String(this.lastMark), undefined, () => undefined);
    return this.lastMark;
  }

  stop(): void {
    this.stopping.abort();
    this.socket?.close(GOING_AWAY, 'The worker stops.');
    const { socket } = this;
    if (socket !== null) setTimeout(() => socket.terminate(), 1_000).unref();
  }

  /** Exponential backoff with random jitter, so that many workers do not reconnect at the same moment. */
  private backoff(failures: number): number {
    const { reconnectMax } = this.options.connection;
    const full = Math.min(reconnectMax, FIRST_PAUSE_MS * 2 ** Math.min(failures, 16));
    return full * (0.5 + Math.random() / 2);
  }

  private connectOnce(): Promise<Ended> {
    const { workerId, apiKey, webSocketUrl, connection } = this.options;
    const url = new URL(webSocketUrl);
    url.searchParams.set('worker_id', workerId);
    let key: string;
    try {
      key = apiKey();
    } catch (error) {
      return Promise.resolve({
        kind: 'closed',
        reason: `no API key: ${error instanceof Error ? error.message : 'unknown'}`,
      });
    }
    return new Promise((resolve) => {
      const socket = new WebSocket(url, {
        headers: { authorization: `Bearer ${key}`, [HELLO_HEADER]: '1' },
        handshakeTimeout: HANDSHAKE_MS,
        maxPayload: MAX_FRAME_BYTES,
        perMessageDeflate: false,
        followRedirects: false,
      });
      this.socket = socket;
      let reason = 'the connection was closed';
      let lastSeenAt = performance.now();
      const watch = setInterval(() => {
        if (performance.now() - lastSeenAt > connection.pongTimeout) {
          reason = 'the server did not respond in time';
          socket.terminate();
        } else if (socket.readyState === WebSocket.OPEN) socket.ping(undefined, undefined, () => undefined);
      }, connection.pingEvery);
      const alive = (): void => void (lastSeenAt = performance.now());
      socket.on('open', () => {
        alive();
        this.events.opened();
      });
      socket.on('ping', alive);
      socket.on('pong', (payload) => {
        alive();
        if (payload.length > 0) this.events.confirmed(Number(payload.toString()));
      });
      socket.on('message', (bytes: Buffer, isBinary) => {
        alive();
        if (!isBinary) this.read(bytes.toString('utf8'));
      });
      socket.on('unexpected-response', (request, response) => {
        void readRejection(response).then((ended) => {
          request.destroy();
          clearInterval(watch);
          resolve(ended);
        });
      });
      // Every error is followed by a close.
      socket.on('error', (error) => void (reason = error.message));
      socket.on('close', (code) => {
        clearInterval(watch);
        if (this.socket === socket) this.socket = null;
        const detail = code === 1005 || code === 1006 ? reason : `${reason} (${code})`;
        this.events.closed(detail);
        resolve({ kind: 'closed', reason: detail });
      });
    });
  }

  private read(text: string): void {
    const parsed = parseServerFrame(text);
    switch (parsed.kind) {
      case 'frame':
        return this.events.frame(parsed.frame);
      case 'unknown':
        return this.log.info('a frame of an unknown type is ignored', { type: parsed.type });
      case 'invalid':
        return this.log.warn('a frame is ignored', { type: parsed.type, detail: parsed.detail });
      case 'malformed':
        return this.log.warn('a frame is ignored', { detail: parsed.detail });
    }
  }
}

/** Exit codes of a worker that the server permanently rejects (sysexits.h: EX_NOPERM, EX_USAGE). */
const REJECTED_EXIT = { credentials: 77, name: 64 } as const;

const MAX_BODY_BYTES = 8_192;
const BODY_MS = 2_000;

async function readRejection(response: IncomingMessage): Promise<Ended> {
  const status = response.statusCode ?? 0;
  const detail = await detailOf(response);
  const quote = detail === '' ? '' : ` Detail: ${detail}`;
  switch (status) {
    case 400:
      return permanent(`The server rejects the name of this worker (400).${quote}`, REJECTED_EXIT.name);
    case 401:
      return permanent(
        `The server rejects the API key (401): it is invalid, expired or revoked.${quote}`,
        REJECTED_EXIT.credentials,
      );
    case 403:
      return permanent(
        `The server rejects this worker (403): it needs the token of a service account, and a name that does not begin with "warp".${quote}`,
        REJECTED_EXIT.credentials,
      );
    default:
      return { kind: 'closed', reason: `the server answered ${status}` };
  }
}

const permanent = (message: string, exitCode: number): Ended => ({
  kind: 'refused',
  fault: new WorkerFault(message, exitCode),
});

/** The detail of a problem document; empty for any other body. */
async function detailOf(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), BODY_MS);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BODY_BYTES) break;
    }
    const { detail } = fields(JSON.parse(Buffer.concat(chunks).toString('utf8')));
    return typeof detail === 'string' ? detail.replace(/\p{Cc}+/gu, ' ').slice(0, 500) : '';
  } catch {
    return '';
  } finally {
    clearTimeout(timer);
  }
}
