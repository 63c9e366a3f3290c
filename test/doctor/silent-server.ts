import { createServer, type Socket } from 'node:net';

export interface SilentServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Takes connections and answers each with `greeting`, or with nothing at all: then it is a server that hangs. */
export async function startSilentServer(
  greeting: (received: string) => string | null = () => null,
): Promise<SilentServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      const response = greeting(chunk.toString());
      if (response !== null) socket.end(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
