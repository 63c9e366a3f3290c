import type { Socket } from 'node:net';
import { SocketServer } from '../process/socket-server.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import type { RunTool } from './run-tool.js';

interface ToolServerOptions {
  readonly socket: string;
  readonly tools: readonly RunTool[];
  readonly log: RunnerLog;
}

const MAX_CONNECTIONS = 16;

/** Starts a server of the tools of the run, by the Model Context Protocol: each connection is a separate session. */
export const startToolServer = ({ tools, log, ...place }: ToolServerOptions): Promise<SocketServer> =>
  SocketServer.start({
    ...place,
    maxConnections: MAX_CONNECTIONS,
    onConnection: (connection) => void serve(connection, tools, log),
  });

async function serve(connection: Socket, tools: readonly RunTool[], log: RunnerLog): Promise<void> {
  try {
    // Not before an agent connects: most runs use no tool, and the library takes as long to load as the rest of a runner.
    const { serveTools } = await import('./mcp-session.js');
    serveTools(connection, tools, log);
  } catch (error) {
    log.error('the tools of the run could not be loaded', { error: errorText(error) });
    connection.destroy();
  }
}
