import { closeSync, constants, openSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { peerUser } from './peer-user.js';

interface SocketServerOptions {
  /**
   * A path in a directory that only the agent's user can enter. Its length is not limited. `user`: of a port of 127.0.0.1, which
   * everybody on the machine can open; undefined: this system has no users, and nobody is accepted.
   */
  readonly socket: string | { readonly user: number | undefined };
  readonly maxConnections: number;
  readonly onConnection: (connection: Socket) => void;
  /** A connection stays open for the answer when the other side has sent all. Default: false. */
  readonly allowHalfOpen?: boolean;
}

/** Who connects to a socket has to be able to write it. */
const WRITABLE = 0o111;

/** Listens for connections of the user of the agent only, and of root by a path. Nobody gets an answer after `close`. */
export class SocketServer {
  private readonly connections = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async start(options: SocketServerOptions): Promise<SocketServer> {
    const { socket, maxConnections, onConnection, allowHalfOpen = false } = options;
    const server = createServer({ allowHalfOpen });
    server.maxConnections = maxConnections;
    const started = new SocketServer(server);
    server.on('connection', (connection) => {
      if (typeof socket !== 'string' && peerUser(connection) !== socket.user) return void connection.destroy();
      started.connections.add(connection);
      connection.on('close', () => started.connections.delete(connection));
      connection.on('error', () => connection.destroy());
      onConnection(connection);
    });
    if (typeof socket === 'string') await listen(server, socket);
    else await listening(server, () => server.listen(0, '127.0.0.1'));
    server.unref();
    return started;
  }

  /** Of a server without a path. */
  get port(): number {
    return (this.server.address() as AddressInfo).port;
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
  await listening(server, () => {
    // The directory protects the socket. Its owner and mode are not changed afterwards: this process may be root, and the agent
    // may have replaced the socket by a link to another file. The socket is created within `listen`.
    const umask = process.umask(WRITABLE);
    try {
      server.listen(join('/proc/self/fd', String(directory), basename(socket)));
    } finally {
      process.umask(umask);
    }
  });
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', resolve);
    listen();
  });
}
