import WebSocket from 'ws';
import type { TestApi } from '#testing';
import {
  type Hello,
  HELLO_HEADER,
  type ServerFrame,
  WORKER_SOCKET_PATH,
  type WorkerFrame,
} from '#execution/worker-protocol';

type Frame<T extends ServerFrame['type']> = Extract<ServerFrame, { type: T }>;

/** A connection of a worker that sends the frames that a test passes to it. Frames are kept until a test reads them. */
export class WorkerClient {
  private readonly unread: ServerFrame[] = [];
  private readonly readers = new Set<() => void>();

  private constructor(
    private readonly socket: WebSocket,
    readonly host: string,
  ) {
    socket.on('message', (bytes: Buffer) => {
      this.unread.push(JSON.parse(bytes.toString('utf8')) as ServerFrame);
      for (const reader of [...this.readers]) reader();
    });
  }

  static async connect(
    api: TestApi,
    token: string,
    host: string,
    { awaitsHello = false }: { awaitsHello?: boolean } = {},
  ): Promise<WorkerClient> {
    const url = `${api.url.replace('http', 'ws')}/api/v1${WORKER_SOCKET_PATH}?worker_id=${encodeURIComponent(host)}`;
    const headers = { Authorization: `Bearer ${token}`, ...(awaitsHello ? { [HELLO_HEADER]: '1' } : {}) };
    const socket = new WebSocket(url, { headers });
    const client = new WorkerClient(socket, host);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    return client;
  }

  /** Reports its slots and its journal in a hello frame. */
  static async connectWithHello(
    api: TestApi,
    token: string,
    host: string,
    hello: Pick<Hello['data'], 'instance_id' | 'slots'> & Partial<Hello['data']>,
  ): Promise<{ worker: WorkerClient; answer: Frame<'hello'>['data'] }> {
    const worker = await WorkerClient.connect(api, token, host, { awaitsHello: true });
    worker.say({
      type: 'hello',
      data: {
        protocol: 1,
        version: 'test',
        backend: 'process',
        features: [],
        harnesses: [],
        skills: [],
        tasks: [],
        ...hello,
      },
    });
    return { worker, answer: (await worker.next('hello')).data };
  }

  say(frame: WorkerFrame): void {
    this.socket.send(JSON.stringify(frame));
  }

  claim(taskId: string): void {
    this.say({ type: 'task_claimed', data: { task_id: taskId, worker_id: this.host } });
  }

  complete(taskId: string, fields: { task_state?: string } = {}): void {
    this.say({ type: 'task_completed', data: { task_id: taskId, message: 'Done.', ...fields } });
  }

  /** The next frame of this type; frames of other types stay. */
  async next<T extends ServerFrame['type']>(type: T): Promise<Frame<T>> {
    for (;;) {
      const index = this.unread.findIndex((frame) => frame.type === type);
      if (index >= 0) return this.unread.splice(index, 1)[0] as Frame<T>;
      await new Promise<void>((resolve) => {
        const reader = (): void => {
          this.readers.delete(reader);
          resolve();
        };
        this.readers.add(reader);
      });
    }
  }

  /** Types of the frames that no test has read. */
  get kept(): readonly string[] {
    return this.unread.map(({ type }) => type);
  }

  /** Resolves when all frames before it are handled: frames of one connection are handled in order. */
  async handled(): Promise<void> {
    this.say({ type: 'beat', data: { draining: false, free_slots: 1, tasks: [] } });
    await this.next('beat');
  }

  /** Closes the connection without a frame, like a machine that loses its power. */
  async vanish(): Promise<void> {
    if (this.socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => this.socket.once('close', resolve));
    this.socket.terminate();
    await closed;
  }
}
