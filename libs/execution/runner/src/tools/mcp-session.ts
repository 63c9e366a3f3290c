import type { Socket } from 'node:net';
import { Transform } from 'node:stream';
import { McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { errorText, type RunnerLog } from '../runner-log.js';
import type { RunTool } from './run-tool.js';
import { VERSION } from '../version.js';

const MAX_MESSAGE_BYTES = 4 * 1_048_576;
/** Clients that ask for progress wait longer than their timeout, of a minute in most, as long as it is reported. */
const PROGRESS_MS = 10_000;

/** One session of an agent, over its connection. */
export function serveTools(connection: Socket, tools: readonly RunTool[], log: RunnerLog): void {
  const factory = (): McpServer => {
    const server = new McpServer({ name: 'headrace', version: VERSION }, { capabilities: { tools: {} } });
    for (const { name, title, description, input, execute } of tools)
      server.registerTool(name, { title, description, inputSchema: input }, async (given, { mcpReq }) => {
        const stopProgress = reportProgress(mcpReq);
        try {
          const result = await execute(given, mcpReq.signal);
          log.info('a tool of the run was used', { tool: name, is_error: result.isError === true });
          return { content: [{ type: 'text', text: result.text }], isError: result.isError === true };
        } catch (error) {
          log.warn('a tool of the run has failed', { tool: name, error: errorText(error) });
          return { content: [{ type: 'text', text: 'The tool has failed. Try again later.' }], isError: true };
        } finally {
          stopProgress();
        }
      });
    return server;
  };
  serveStdio(factory, {
    transport: new StdioServerTransport(connection.pipe(messagesOf(connection)), connection),
    onerror: (error) => log.warn('a session of the tools has failed', { error: errorText(error) }),
  });
}

/** Until the returned function is called. */
function reportProgress({ _meta: meta, notify }: ServerContext['mcpReq']): () => void {
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    // Without a connection the signal ends the tool.
    notify({ method: 'notifications/progress', params: { progressToken, progress } }).catch(() => undefined);
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

/** Ends the connection when a message is too long: the library keeps an incomplete one in memory, however long it is. */
function messagesOf(connection: Socket): Transform {
  let size = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      const end = chunk.lastIndexOf(0x0a);
      size = end < 0 ? size + chunk.length : chunk.length - end - 1;
      if (size > MAX_MESSAGE_BYTES) connection.destroy();
      done(null, chunk);
    },
  });
}
