import { connect, type Socket } from 'node:net';

/** A connection on which bytes are sent as they are, and whatever comes back is kept. */
export class RawConnection {
  text = '';
  private readonly socket: Socket;
  private readonly watchers = new Set<() => void>();
  /** Resolves when the other side has closed. */
  readonly closed: Promise<void>;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
      for (const watcher of this.watchers) watcher();
    });
    this.socket.on('error', () => this.socket.destroy());
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** Resolves once the text has come; rejects when the connection is closed without it. */
  async says(needle: string | RegExp): Promise<void> {
    const heard = (): boolean => (typeof needle === 'string' ? this.text.includes(needle) : needle.test(this.text));
    let watcher: () => void = () => undefined;
    const said = new Promise<true>((resolve) => {
      watcher = () => heard() && resolve(true);
      this.watchers.add(watcher);
      watcher();
    });
    const isSaid = await Promise.race([said, this.closed.then(heard)]);
    this.watchers.delete(watcher);
    if (!isSaid) throw new Error(`Closed without ${String(needle)}: ${JSON.stringify(this.text)}`);
  }

  /** Sends nothing more, and listens on. */
  hush(): void {
    this.socket.end();
  }

  end(): void {
    this.socket.destroy();
  }
}
