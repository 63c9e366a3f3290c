import { RequestError, type McpServer } from '@agentclientprotocol/sdk';
import type { Assignment, SessionStarted } from '#libs/runner-protocol';
import { mcpServersFor, type AgentSession } from './acp/agent-session.js';
import { AgentFailure } from './harness/launch.js';
import { errorText, type RunnerLog } from './runner-log.js';

/** Waits for the agent's answer; what it turns a failure into is an AgentFailure (or the halt of the execution). */
export type AskAgent = <T>(what: string, answer: Promise<T>) => Promise<T>;

export interface OpenSessionOptions {
  readonly session: AgentSession;
  readonly assignment: Assignment;
  readonly cwd: string;
  /** The stored transcript lies where the agent looks for it. */
  readonly transcriptPlaced: boolean;
  readonly ask: AskAgent;
  readonly log: RunnerLog;
}

/** Greets the agent and opens a session, the earlier one when there is one to go on with. */
export async function openSession(options: OpenSessionOptions): Promise<SessionStarted> {
  const { session, assignment, cwd, ask, log } = options;
  await ask('initialize', session.initialize());
  const mcp = mcpServersFor(assignment.mcp_servers, session.takesHttpMcpServers);
  if (mcp.left.length > 0) log.warn('the agent takes no MCP servers over HTTP', { servers: mcp.left.join(',') });
  const resumed = await resume(options, mcp.servers);
  if (!resumed) await ask('session/new', session.open(cwd, mcp.servers));
  const missing = await ask(
    'session/set_config_option',
    session.configure({ modelId: assignment.harness.model_id, reasoningLevel: assignment.harness.reasoning_level }),
  );
  if (missing.length > 0) log.warn('the agent does not offer what was configured', { missing: missing.join(',') });
  const { agentName, agentVersion } = session;
  return {
    session_id: session.id,
    ...(agentName === undefined ? {} : { agent_name: agentName }),
    ...(agentVersion === undefined ? {} : { agent_version: agentVersion }),
    resumed,
  };
}

/**
 * Loads the earlier session. Without a transcript there is nothing to lose: the agent starts a new session. With one,
 * an agent that cannot load it must not go on as if nothing had been said before.
 */
async function resume(
  { session, assignment, cwd, transcriptPlaced, ask, log }: OpenSessionOptions,
  mcpServers: McpServer[],
): Promise<boolean> {
  const earlier = assignment.resume;
  if (!earlier) return false;
  if (!session.canLoad || (earlier.transcript && !transcriptPlaced)) {
    log.warn('the earlier session cannot be loaded; a new one is started', { can_load: session.canLoad });
    return false;
  }
  try {
    await ask('session/load', session.load(earlier.session_id, cwd, mcpServers));
    return true;
  } catch (error) {
    if (!(error instanceof AgentFailure) || !(error.cause instanceof RequestError)) throw error;
    if (transcriptPlaced) throw new AgentFailure(`The agent could not load the earlier session. ${error.message}`);
    log.warn('the earlier session is unknown to the agent; a new one is started', { error: errorText(error) });
    return false;
  }
}
