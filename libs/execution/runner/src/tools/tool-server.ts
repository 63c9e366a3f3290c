import { createServer, type Server, type Socket } from 'node:net';
import type { RunnerHandover } from '#execution/runner-protocol';
import { listenAt } from '../process/listen-at.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import type { RunTool } from './run-tools.js';

interface ToolServerOptions {
  /** A path in a directory of the agent's user. */
  readonly socket: string;
  readonly runAs: RunnerHandover['run_as'];
  readonly tools: () => readonly RunTool[];
  readonly log: RunnerLog;
}

const MAX_CONNECTIONS = 16;

/** The tools of the run, by the Model Context Protocol: each connection is a separate session. Nobody gets an answer after `close`. */
export class ToolServer {
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly options: ToolServerOptions,
  ) {}

  static async start(options: ToolServerOptions): Promise<ToolServer> {
    const server = createServer();
    server.maxConnections = MAX_CONNECTIONS;
    const started = new ToolServer(server, options);
    server.on('connection', (connection) => started.serve(connection));
    await listenAt(server, options.socket, options.runAs);
    return started;
  }

  close(): void {
    this.server.close();
    for (const connection of this.connections) connection.destroy();
  }

  private serve(connection: Socket): void {
    const { tools, log } = this.options;
    this.connections.add(connection);
    connection.on('close', () => this.connections.delete(connection));
    connection.on('error', () => connection.destroy());
    // Not before an agent connects: most runs use no tool, and the library takes as long to load as the rest of a runner.
    import('./mcp-session.js').then(
      ({ serveTools }) => serveTools(connection, tools(), log),
      (error: unknown) => {
        log.error('the tools of the run could not be loaded', { error: errorText(error) });
        connection.destroy();
      },
    );
  }
}
