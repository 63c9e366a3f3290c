import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import WebSocket, { type ClientOptions } from 'ws';
import { parseServerFrame, type ServerFrame, WORKER_SOCKET_PATH } from '#execution/worker-protocol';

const PATH = `/api/v1${WORKER_SOCKET_PATH}`;

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** An open socket as a worker has it, that keeps what comes in until it is asked for. */
export class WorkerSocket {
  private readonly frames: ServerFrame[] = [];
  private readonly waiting: ((frame: ServerFrame) => void)[] = [];
  readonly closed: Promise<Closed>;

  private constructor(readonly socket: WebSocket) {
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    );
    socket.on('message', (data: Buffer) => {
      const parsed = parseServerFrame(data.toString());
      if (parsed.kind !== 'frame') throw new Error(`The server sent ${data.toString()}`);
      const next = this.waiting.shift();
      if (next) next(parsed.frame);
      else this.frames.push(parsed.frame);
    });
  }

  static async open(origin: string, name: string, token: string, options: ClientOptions = {}): Promise<WorkerSocket> {
    const url = `${origin.replace('http', 'ws')}${PATH}?worker_id=${encodeURIComponent(name)}`;
    const socket = new WebSocket(url, {
      ...options,
      headers: { Authorization: `Bearer ${token}`, ...options.headers },
    });
    const worker = new WorkerSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return worker;
  }

  send(frame: unknown): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** The next frame from the server. */
  next(): Promise<ServerFrame> {
    const frame = this.frames.shift();
    return frame ? Promise.resolve(frame) : new Promise((resolve) => this.waiting.push(resolve));
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

export const hello = (instanceId: string, changes: object = {}): object => ({
  type: 'hello',
  data: {
    protocol: 1,
    instance_id: instanceId,
    version: '0.0.0',
    backend: 'process',
    slots: 2,
    features: [],
    harnesses: [{ id: 'oz', installed: true }],
    skills: [],
    tasks: [],
    ...changes,
  },
});

export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ReturnType<typeof JSON.parse>;
}

interface Handshake {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks for a WebSocket and gets an ordinary answer; fails when it is let in. */
export function refusal(origin: string, { method, path, query, token, headers }: Handshake): Promise<Refusal> {
  return new Promise((resolve, reject) => {
    const asked = request(`${origin}${path ?? PATH}${query ?? '?worker_id=build-1'}`, {
      method: method ?? 'GET',
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    asked.once('upgrade', (_response, socket: Socket) => {
      socket.destroy();
      reject(new Error('It was let in.'));
    });
    asked.once('error', reject);
    asked.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => {
        const isJson = /json/.test(response.headers['content-type'] ?? '');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        });
      });
    });
    asked.end();
  });
}

/** A worker that is let in and then reads nothing. */
export async function deafWorker(origin: string, token: string): Promise<Socket> {
  const { hostname, port, host } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(
    [
      `GET ${PATH}?worker_id=deaf HTTP/1.1`,
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Bearer ${token}`,
      '',
      '',
    ].join('\r\n'),
  );
  await new Promise<void>((resolve) => socket.once('readable', resolve));
  return socket;
}
