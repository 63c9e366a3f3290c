import { chmodSync, chownSync, closeSync, constants, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { RunnerHandover } from '#execution/runner-protocol';

interface SocketServerOptions {
  /** A path in a directory of the agent's user. Its length is not limited. */
  readonly socket: string;
  readonly runAs: RunnerHandover['run_as'];
  readonly maxConnections: number;
  readonly onConnection: (connection: Socket) => void;
  /** A connection stays open for the answer when the other side has sent all. Default: false. */
  readonly allowHalfOpen?: boolean;
}

/** Listens at a socket that only this user and the user of the agent can open. Nobody gets an answer after `close`. */
export class SocketServer {
  private readonly connections = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(options: SocketServerOptions): Promise<SocketServer> {
    const { socket, runAs, maxConnections, onConnection, allowHalfOpen = false } = options;
    const server = createServer({ allowHalfOpen });
    server.maxConnections = maxConnections;
    const started = new SocketServer(server);
    server.on('connection', (connection) => {
      started.connections.add(connection);
      connection.on('close', () => started.connections.delete(connection));
      connection.on('error', () => connection.destroy());
      onConnection(connection);
    });
    await listen(server, socket);
    if (runAs) chownSync(socket, runAs.uid, runAs.gid);
    chmodSync(socket, 0o600);
    server.unref();
    return started;
  }

  /** At once: also requests that have begun get no answer. */
  close(): void {
    this.server.close();
    for (const connection of this.connections) connection.destroy();
  }
}

/** By a descriptor of the directory, because paths of sockets have at most 107 bytes. */
async function listen(server: Server, socket: string): Promise<void> {
  const directory = openSync(dirname(socket), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  server.once('close', () => closeSync(directory));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(join('/proc/self/fd', String(directory), basename(socket)), resolve);
  });
}
