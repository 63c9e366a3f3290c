import { closeSync, constants, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';

interface SocketServerOptions {
  /** A path in a directory that only the agent's user can enter. Its length is not limited. */
  readonly socket: string;
  readonly maxConnections: number;
  readonly onConnection: (connection: Socket) => void;
  /** A connection stays open for the answer when the other side has sent all. Default: false. */
  readonly allowHalfOpen?: boolean;
}

/** Who connects to a socket has to be able to write it. */
const WRITABLE = 0o111;

/** Listens at a socket that only this user and the user of the agent can open. Nobody gets an answer after `close`. */
export class SocketServer {
  private readonly connections = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(options: SocketServerOptions): Promise<SocketServer> {
    const { socket, maxConnections, onConnection, allowHalfOpen = false } = options;
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
    // The directory protects the socket. Its owner and mode are not changed afterwards: this process may be root, and the agent
    // may have replaced the socket by a link to another file. The socket is created within `listen`.
    const umask = process.umask(WRITABLE);
    try {
      server.listen(join('/proc/self/fd', String(directory), basename(socket)), resolve);
    } finally {
      process.umask(umask);
    }
  });
}
