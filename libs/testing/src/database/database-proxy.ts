import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between an application and its database, to take the database away and give it back. */
export interface DatabaseProxy {
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>;
  restore(): Promise<void>;
  /** From now on the server's answers wait until a client has sent these bytes. */
  answerOnlyAfter(text: string): void;
  /** Ends {@link answerOnlyAfter}. */
  answerAtOnce(): void;
  close(): Promise<void>;
}

export async function createDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const host = decodeURIComponent(target.hostname);
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  let awaited: string | null = null;
  const answerAtOnce = (): void => {
    awaited = null;
    for (const held of upstreams) held.resume();
  };
  const server = createServer((socket) => {
    const upstream = host.startsWith('/')
      ? connect(`${host}/.s.PGSQL.${target.port}`)
      : connect(Number(target.port), host);
    upstreams.add(upstream);
    upstream.once('close', () => upstreams.delete(upstream));
    socket.on('data', (chunk: Buffer) => {
      if (awaited !== null && chunk.includes(awaited)) answerAtOnce();
    });
    for (const side of [socket, upstream]) {
      sockets.add(side);
      side.on('error', () => side.destroy());
      side.once('close', () => {
        sockets.delete(side);
        socket.destroy();
        upstream.destroy();
      });
    }
    socket.pipe(upstream).pipe(socket);
    // After `pipe`, which would resume it.
    if (awaited !== null) upstream.pause();
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const cut = (): Promise<void> =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      if (server.listening) server.close(() => resolve());
      else resolve();
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const answerOnlyAfter = (text: string): void => {
    awaited = text;
    for (const held of upstreams) held.pause();
  };
  return { url: url.href, cut, restore: () => listen(port), answerOnlyAfter, answerAtOnce, close: cut };
}
