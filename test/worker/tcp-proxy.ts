import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** A proxy that can interrupt the network: then no byte passes in either direction, and no side is notified. */
export class TcpProxy {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
    private readonly host: string,
  ) {}

  static async start(target: number, host = '127.0.0.1'): Promise<TcpProxy> {
    const server = createServer({ pauseOnConnect: true });
    const proxy = new TcpProxy(server, target, host);
    server.on('connection', (socket) => proxy.take(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.pairs.size;
  }

  cut(): void {
    this.isCut = true;
    for (const pair of this.pairs) for (const socket of pair) socket.pause();
  }

  heal(): void {
    this.isCut = false;
    for (const pair of this.pairs) for (const socket of pair) socket.resume();
  }

  async stop(): Promise<void> {
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private take(near: Socket): void {
    const far = connect(this.target, this.host);
    const pair = [near, far] as const;
    this.pairs.add(pair);
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => void to.write(chunk));
      from.on('error', () => undefined);
      from.on('close', () => {
        this.pairs.delete(pair);
        to.destroy();
      });
      if (this.isCut) from.pause();
      else from.resume();
    };
    pass(near, far);
    pass(far, near);
  }
}
