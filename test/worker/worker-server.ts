import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export interface SeenFrame {
  readonly type: string;
  // Tests look into frames of many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any;
  /** Index of its connection, from 0. */
  readonly connection: number;
}

type Verdict = 'keep' | 'stop' | 'unknown';

/** The server side of the worker protocol, written from the contract: records frames and sends those of the test. */
export class WorkerServer {
  readonly frames: SeenFrame[] = [];
  readonly upgrades: IncomingMessage[] = [];
  /** How upgrades are answered; 101 takes them. */
  status = 101;
  /** False: a server that does not know the extension. */
  knowsHello = true;
  nextBeatSeconds = 30;
  verdictOf: (executionId: string) => Verdict = () => 'keep';
  desiredOf: (executionId: string) => 'run' | 'stop' | 'kill' | 'lost' = () => 'run';
  private socket: WebSocket | null = null;
  private count = 0;
  private readonly watchers = new Set<() => void>();

  private constructor(
    private readonly server: Server,
    private readonly sockets: WebSocketServer,
  ) {}

  static async start(): Promise<WorkerServer> {
    const server = createServer((_request, response) => response.writeHead(404).end());
    const own = new WorkerServer(server, new WebSocketServer({ noServer: true, maxPayload: 1_048_576 }));
    server.on('upgrade', (request, socket, head) => {
      own.upgrades.push(request);
      if (own.status !== 101) {
        const body = JSON.stringify({ type: 'about:blank', status: own.status, detail: 'not this one' });
        socket.end(`HTTP/1.1 ${own.status} No\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
        return own.changed();
      }
      own.sockets.handleUpgrade(request, socket, head, (opened) => own.take(opened));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return own;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}/api/v1/selfhosted/worker/ws`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.count;
  }

  send(frame: object | string): void {
    this.socket?.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  assign(executionId: string, { taskId = '01900000-0000-7000-8000-000000000001', token = '' } = {}): void {
    this.send({
      type: 'task_assignment',
      data: {
        task_id: taskId,
        execution_id: executionId,
        task: {
          id: taskId,
          title: 'A task',
          task_definition: { prompt: 'Hello' },
          created_at: '2026-11-01T00:00:00Z',
          updated_at: '2026-11-01T00:00:00Z',
        },
        env_vars: { HEADRACE_EXECUTION_ID: executionId, HEADRACE_EXECUTION_TOKEN: token },
      },
    });
  }

  /** Breaks the connection without a word. */
  cut(): void {
    this.socket?.terminate();
  }

  of(type: string): SeenFrame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  async untilFrame(type: string, count = 1, ms = 20_000): Promise<SeenFrame> {
    await this.until(() => this.of(type).length >= count, `${count} × ${type}`, ms);
    const frame = this.of(type)[count - 1];
    if (frame === undefined) throw new Error('unreachable');
    return frame;
  }

  async until(condition: () => boolean, what: string, ms = 20_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.watchers.delete(look);
        reject(
          new Error(
            `Waited ${ms} ms without success for ${what}; frames: ${this.frames.map(({ type }) => type).join(' ')}`,
          ),
        );
      }, ms);
      const look = (): void => {
        if (!condition()) return;
        this.watchers.delete(look);
        clearTimeout(timer);
        resolve();
      };
      this.watchers.add(look);
    });
  }

  async stop(): Promise<void> {
    for (const client of this.sockets.clients) client.terminate();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(socket: WebSocket): void {
    const connection = this.count;
    this.count += 1;
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('message', (bytes: Buffer) => {
      const { type, data } = JSON.parse(bytes.toString('utf8')) as SeenFrame;
      this.frames.push({ type, data, connection });
      this.answer(socket, type, data);
      this.changed();
    });
    this.changed();
  }

  private answer(socket: WebSocket, type: string, data: SeenFrame['data']): void {
    if (!this.knowsHello || (type !== 'hello' && type !== 'beat')) return;
    const times = { ttl_seconds: 90, next_beat_seconds: this.nextBeatSeconds };
    const tasks = (data.tasks as { task_id: string; execution_id: string }[]).map((task) =>
      type === 'hello'
        ? { ...task, verdict: this.verdictOf(task.execution_id) }
        : { ...task, desired: this.desiredOf(task.execution_id) },
    );
    socket.send(JSON.stringify({ type, data: { ...(type === 'hello' ? { features: [] } : {}), ...times, tasks } }));
  }

  private changed(): void {
    for (const look of [...this.watchers]) look();
  }
}

/** The task of {@link taskAssignment}. */
export const TASK = '01900000-0000-7000-8000-000000000001';

/** The assignment of the execution that the double of the control plane knows. */
export function taskAssignment(token: string, more: object = {}) {
  return {
    type: 'task_assignment',
    data: {
      task_id: TASK,
      execution_id: '1',
      task: { id: TASK, title: 'A task', task_definition: { prompt: 'x' }, created_at: '', updated_at: '' },
      env_vars: { HEADRACE_EXECUTION_ID: '1', HEADRACE_EXECUTION_TOKEN: token },
      ...more,
    },
  };
}
