import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A TCP load balancer in front of several instances: a connection goes to the next one that accepts it. */
export class FailoverProxy {
  private readonly sockets = new Set<Socket>();
  private next = 0;
  private isCut = false;
  private isFrozen = false;
  private delayMs = 0;

  private constructor(
    private readonly server: Server,
    private readonly ports: readonly number[],
  ) {}

  static async start(ports: readonly number[]): Promise<FailoverProxy> {
    const server = createServer({ pauseOnConnect: true });
    const proxy = new FailoverProxy(server, ports);
    server.on('connection', (socket) => proxy.accept(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Breaks every connection, and each new one until `restore`. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** From now on no byte passes in either direction, and nobody learns of it. */
  freeze(): void {
    this.isFrozen = true;
    for (const socket of this.sockets) socket.pause();
  }

  /** From now on every chunk takes so much longer. */
  slowDown(delayMs: number): void {
    this.delayMs = delayMs;
  }

  /** Ends every disturbance. */
  restore(): void {
    this.isCut = false;
    this.isFrozen = false;
    this.delayMs = 0;
    for (const socket of this.sockets) socket.resume();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(client: Socket): void {
    this.track(client);
    if (this.isCut) client.destroy();
    else this.forward(client, this.ports.length);
  }

  private forward(client: Socket, attempts: number): void {
    const port = this.ports[this.next++ % this.ports.length];
    if (attempts === 0 || port === undefined || client.destroyed) return void client.destroy();
    const upstream = connect(port, '127.0.0.1');
    this.track(upstream);
    const failOver = (): void => this.forward(client, attempts - 1);
    upstream.once('error', failOver);
    upstream.once('connect', () => {
      upstream.off('error', failOver);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        from.once('close', () => to.destroy());
        if (from.destroyed) to.destroy();
      }
      this.pass(client, upstream);
      this.pass(upstream, client);
    });
  }

  private pass(from: Socket, to: Socket): void {
    let sent = Promise.resolve();
    from.on('data', (chunk: Buffer) => {
      const delayMs = this.delayMs;
      // In order, also when the delay ends.
      sent = sent.then(() => (delayMs > 0 ? delay(delayMs) : undefined)).then(() => void to.write(chunk));
    });
    if (this.isFrozen) from.pause();
    else from.resume();
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    // Its `close` follows, and is what counts.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.sockets.delete(socket));
  }
}
