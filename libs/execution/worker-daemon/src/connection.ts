import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import type { HostLog } from '#execution/runner-host';
import {
  HELLO_HEADER,
  MAX_FRAME_BYTES,
  parseServerFrame,
  type ServerFrame,
  type WorkerFrame,
} from '#execution/worker-protocol';
import type { WorkerFault } from './backend.js';
import type { WorkerOptions } from './options/read-worker-options.js';
import { refusalFault } from './refusal.js';

const FIRST_PAUSE_MS = 500;
const HANDSHAKE_MS = 10_000;
const GOING_AWAY = 1001;
/** A connection that stood this long was a good one: the next attempt follows soon. */
const GOOD_MS = 10_000;

export interface ConnectionEvents {
  /** The socket is open. */
  opened(): void;
  frame(frame: ServerFrame): void;
  /** The server has received everything that was sent before {@link Connection.mark} gave this number. */
  confirmed(mark: number): void;
  /** It has broken, and is made anew. */
  closed(reason: string): void;
}

type Ended =
  { readonly kind: 'closed'; readonly reason: string } | { readonly kind: 'refused'; readonly fault: WorkerFault };

/** The one socket to the server, made again whenever it breaks. */
export class Connection {
  private socket: WebSocket | null = null;
  private readonly stopping = new AbortController();
  private lastMark = 0;

  constructor(
    private readonly options: Pick<WorkerOptions, 'workerId' | 'apiKey' | 'webSocketUrl' | 'connection'>,
    private readonly events: ConnectionEvents,
    private readonly log: HostLog,
  ) {}

  /** Connects and stays connected. Resolves after {@link stop}, or with a fault when the server will never take this worker. */
  async run(): Promise<WorkerFault | null> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      const startedAt = performance.now();
      const ended = await this.connectOnce();
      if (ended.kind === 'refused') return ended.fault;
      if (signal.aborted) break;
      failures = performance.now() - startedAt > GOOD_MS ? 0 : failures + 1;
      const waitMs = this.pauseAfter(failures);
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

  /** Asks the server for a sign that it has received what was sent until now; the answer is {@link ConnectionEvents.confirmed}. */
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

  /** Doubling, with half of it left to chance: a thousand workers must not come back in one moment. */
  private pauseAfter(failures: number): number {
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
      let heardAt = performance.now();
      const watch = setInterval(() => {
        if (performance.now() - heardAt > connection.pongTimeout) {
          reason = 'the server was silent for too long';
          socket.terminate();
        } else if (socket.readyState === WebSocket.OPEN) socket.ping(undefined, undefined, () => undefined);
      }, connection.pingEvery);
      const alive = (): void => void (heardAt = performance.now());
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
        void refusalFault(response).then((answer) => {
          request.destroy();
          clearInterval(watch);
          resolve(
            answer.kind === 'fault'
              ? { kind: 'refused', fault: answer.fault }
              : { kind: 'closed', reason: answer.reason },
          );
        });
      });
      // Every error is followed by a close.
      socket.on('error', (error) => void (reason = error.message));
      socket.on('close', (code) => {
        clearInterval(watch);
        if (this.socket === socket) this.socket = null;
        const told = code === 1005 || code === 1006 ? reason : `${reason} (${code})`;
        this.events.closed(told);
        resolve({ kind: 'closed', reason: told });
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
