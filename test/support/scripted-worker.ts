import { WebSocket } from 'ws';

/** One text frame, as the contract has it. */
export interface Frame {
  readonly type: string;
  // Tests look into data of many shapes.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: any;
}

export interface WorkerConnection {
  /** Origin of the API. */
  readonly url: string;
  readonly token?: string;
  /** `worker_id`; absent or null: not in the query at all. */
  readonly name?: string | null;
  /** How often it pings; 0: never. Default: 30 s, as the contract has it. */
  readonly pingEveryMs?: number;
}

/** What the upgrade is answered with when it is refused. */
export interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const PATIENCE_MS = 25_000;

/**
 * A worker that does what a test tells it to and speaks the wire of the contract of self-hosted workers: written from that
 * text, sharing no code with our server and our daemon.
 */
export class ScriptedWorker {
  /** Every frame that came, in order. */
  readonly received: Frame[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Frames that nobody has waited for yet. */
  private readonly unread: Frame[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly pings: NodeJS.Timeout | null;
  private isSilent = false;
  private listener: (frame: Frame) => void = () => undefined;

  private constructor(
    private readonly socket: WebSocket,
    readonly name: string,
    pingEveryMs: number,
  ) {
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.wake();
        resolve({ code, reason: reason.toString() });
      });
    });
    socket.on('error', () => undefined);
    socket.on('message', (bytes, isBinary) => {
      if (this.isSilent) return;
      if (isBinary) throw new Error('The server sent a binary frame.');
      const frame = parseFrame((bytes as Buffer).toString());
      this.received.push(frame);
      this.unread.push(frame);
      this.listener(frame);
      this.wake();
    });
    socket.on('ping', (data) => {
      if (!this.isSilent) socket.pong(data);
    });
    this.pings = pingEveryMs === 0 ? null : setInterval(() => this.ping(), pingEveryMs);
    socket.resume();
  }

  /** Rejects with the status when the upgrade is refused. */
  static async connect(connection: WorkerConnection & { name: string }): Promise<ScriptedWorker> {
    const result = await upgrade(connection);
    if (!(result instanceof WebSocket)) throw new Error(`The upgrade was refused: ${result.status} ${result.body}`);
    return new ScriptedWorker(result, connection.name, connection.pingEveryMs ?? 30_000);
  }

  /** Rejects when it is let in. */
  static async refused(connection: WorkerConnection): Promise<Refusal> {
    const result = await upgrade(connection);
    if (!(result instanceof WebSocket)) return result;
    result.terminate();
    throw new Error('The worker was let in.');
  }

  /** Calls back with each frame that comes from now on. */
  listen(listener: (frame: Frame) => void): void {
    this.listener = listener;
    // The first ones may come with the connection itself.
    for (const frame of this.received) listener(frame);
  }

  send(type: string, data?: object): void {
    this.sendText(JSON.stringify(data === undefined ? { type } : { type, data }));
  }

  /** Whatever it is, as a text frame. */
  sendText(text: string): void {
    this.socket.send(text);
  }

  sendBinary(bytes: Buffer): void {
    this.socket.send(bytes, { binary: true });
  }

  /** Resolves with the pong. */
  async pingPong(): Promise<void> {
    const pong = new Promise<void>((resolve) => this.socket.once('pong', () => resolve()));
    this.socket.ping();
    await this.within(pong, 'a pong');
  }

  /** The next frame of a type that was not read yet; rejects when the socket closes before, or none comes in time. */
  async next(type: string, accepts: (frame: Frame) => boolean = () => true, patienceMs = PATIENCE_MS): Promise<Frame> {
    const found = await this.find((frame) => frame.type === type && accepts(frame), patienceMs);
    if (found) return found;
    const seen = this.received.map((frame) => frame.type).join(', ') || 'nothing';
    throw new Error(`No ${type} came for ${this.name} (state ${this.socket.readyState}); it has seen ${seen}.`);
  }

  /** The next assignment of a run. */
  assignment(runId: string, patienceMs?: number): Promise<Frame> {
    return this.next('task_assignment', ({ data }) => data.task_id === runId, patienceMs);
  }

  /** Takes the next assignment of a run and confirms it. */
  async claim(runId: string): Promise<Frame> {
    const assignment = await this.assignment(runId);
    this.send('task_claimed', { task_id: runId, worker_id: this.name });
    return assignment;
  }

  /** Frames of a type that have come so far for a run. */
  count(type: string, runId: string): number {
    return this.received.filter((frame) => frame.type === type && frame.data?.task_id === runId).length;
  }

  /** The machine is gone: the socket stays open, and nothing goes out or is taken in any more. */
  fallSilent(): void {
    this.isSilent = true;
    if (this.pings) clearInterval(this.pings);
  }

  /** The socket breaks without a shutdown. */
  async cut(): Promise<void> {
    this.socket.terminate();
    await this.leave();
  }

  /** Closes properly. */
  async close(): Promise<void> {
    this.socket.close(1000);
    await this.leave();
  }

  private async leave(): Promise<void> {
    if (this.pings) clearInterval(this.pings);
    // A server that does not answer the closing must not keep the test.
    const timer = setTimeout(() => this.socket.terminate(), 2_000);
    await this.closed;
    clearTimeout(timer);
  }

  private ping(): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.ping();
  }

  private async find(accepts: (frame: Frame) => boolean, patienceMs: number): Promise<Frame | null> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const index = this.unread.findIndex(accepts);
      if (index >= 0) return this.unread.splice(index, 1)[0] ?? null;
      const left = deadline - performance.now();
      if (left <= 0 || this.socket.readyState !== WebSocket.OPEN) return null;
      await this.news(left);
    }
  }

  private async news(patienceMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.waiting.add(resolve);
      timer = setTimeout(resolve, patienceMs);
    });
    clearTimeout(timer);
  }

  private wake(): void {
    for (const resume of this.waiting) resume();
    this.waiting.clear();
  }

  private async within(work: Promise<void>, what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${what} did not come for ${this.name}.`)), PATIENCE_MS);
    });
    await Promise.race([work, late]).finally(() => clearTimeout(timer));
  }
}

function parseFrame(text: string): Frame {
  const frame = JSON.parse(text) as { type?: unknown; data?: unknown };
  if (typeof frame !== 'object' || frame === null || typeof frame.type !== 'string')
    throw new Error(`The server sent something that is no frame: ${text.slice(0, 200)}`);
  return { type: frame.type, data: frame.data };
}

function upgrade({ url, token, name }: WorkerConnection): Promise<WebSocket | Refusal> {
  const address = new URL('/api/v1/selfhosted/worker/ws', url.replace(/^http/, 'ws'));
  if (name !== undefined && name !== null) address.searchParams.set('worker_id', name);
  const socket = new WebSocket(address, {
    autoPong: false,
    perMessageDeflate: false,
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      // Frames that come with the answer to the upgrade wait for their listener.
      socket.pause();
      resolve(socket);
    });
    socket.once('error', reject);
    socket.once('unexpected-response', (request, response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        request.destroy();
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, headers, body: Buffer.concat(chunks).toString() });
      });
      response.on('error', reject);
    });
  });
}
