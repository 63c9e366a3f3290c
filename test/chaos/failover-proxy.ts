import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP load balancer in front of several instances: a connection goes to the next one that accepts it. */
export class FailoverProxy {
  private readonly sockets = new Set<Socket>();
  private next = 0;
  private isCut = false;

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

  restore(): void {
    this.isCut = false;
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
      client.pipe(upstream).pipe(client);
    });
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    // Its `close` follows, and is what counts.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.sockets.delete(socket));
  }
}
