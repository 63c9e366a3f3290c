import type { McpServer } from '@agentclientprotocol/sdk';
import { errorText } from '../runner-log.js';
import { VERSION } from '../version.js';

interface ToolCall {
  readonly server: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ToolAnswer {
  readonly succeeded: boolean;
  readonly text: string;
}

/** Without progress: servers report it while a tool waits for a person. */
const TIMEOUT_MS = 60_000;

/** Starts the server, calls one of its tools and ends the server. Does not reject: a failure is an answer. */
export async function callTool(
  servers: readonly McpServer[],
  { server: wanted, name, input }: ToolCall,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const server = servers.find((candidate) => candidate.name === wanted);
  if (!server || !('command' in server))
    return { succeeded: false, text: `The session has no MCP server ${wanted} that is a program.` };
  // Most sessions use no tool, and the library takes longer to load than the rest of this agent.
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const client = new Client({ name: 'oz', version: VERSION });
  try {
    const env = Object.fromEntries((server.env ?? []).map((variable) => [variable.name, variable.value]));
    await client.connect(new StdioClientTransport({ command: server.command, args: server.args, env }));
    const options = { timeout: TIMEOUT_MS, resetTimeoutOnProgress: true, onprogress: () => undefined, signal };
    const result = await client.callTool({ name, arguments: input }, options);
    const texts = result.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    return { succeeded: result.isError !== true, text: texts.join('\n') };
  } catch (error) {
    return { succeeded: false, text: errorText(error) };
  } finally {
    await client.close();
  }
}
