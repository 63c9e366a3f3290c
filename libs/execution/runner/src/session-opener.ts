import { RequestError, type McpServer } from '@agentclientprotocol/sdk';
import type { Assignment, SessionStarted } from '#execution/runner-protocol';
import { mcpServersFor, type AgentSession } from './acp/agent-session.js';
import { AgentFailure } from './acp/model-failure.js';
import { requestedModel, usesPlaceholder } from './harness/launch.js';
import type { Harness } from './harness/harnesses.js';
import { errorText, type RunnerLog } from './runner-log.js';

interface OpenSessionOptions {
  readonly session: AgentSession;
  readonly assignment: Assignment;
  readonly harness: Harness;
  readonly cwd: string;
  readonly transcriptPlaced: boolean;
  /** Waits for the agent's response; rejects with AgentFailure or TerminatedError. */
  readonly ask: <T>(what: string, answer: Promise<T>) => Promise<T>;
  readonly log: RunnerLog;
}

/** Initializes the agent and opens a session: the earlier one, when it can be continued. */
export async function openSession(options: OpenSessionOptions): Promise<SessionStarted> {
  const { session, assignment, cwd, ask, log } = options;
  await ask('initialize', session.initialize());
  const mcp = mcpServersFor(assignment.mcp_servers, session.supportsHttpMcpServers);
  const warnings: string[] = [];
  if (mcp.unsupported.length > 0)
    warnings.push(`The agent does not support MCP servers over HTTP; not available: ${mcp.unsupported.join(', ')}.`);
  const resumed = await resume(options, mcp.servers);
  if (!resumed && assignment.resume)
    warnings.push('The agent cannot load the earlier session; a new session was started.');
  if (!resumed) await withAuthentication(options, 'session/new', () => session.open(cwd, mcp.servers));
  warnings.push(...(await choosePermissionMode(options)));
  warnings.push(...(await selectModel(options)));
  for (const warning of warnings) log.warn(warning);
  return {
    session_id: session.id,
    agent_name: session.agent?.name,
    agent_version: session.agent?.version,
    resumed,
    warnings: warnings.length === 0 ? undefined : warnings,
  };
}

/**
 * Sets the mode in which the agent requests permission as the run's policy requires; throws AgentFailure when the agent
 * does not offer it. Returns a warning when it is not known whether the agent requests permission at all.
 */
async function choosePermissionMode({ session, assignment, harness, ask }: OpenSessionOptions): Promise<string[]> {
  const { permission_policy: policy } = assignment;
  const { permission_modes: modes, permission_env: env } = harness;
  const mode = policy === 'allow' ? modes?.allow : modes?.ask;
  if (mode !== undefined && session.hasMode(mode)) await ask('session/set_mode', session.setMode(mode));
  else if (mode !== undefined && policy !== 'allow')
    throw new AgentFailure(
      `The agent does not offer its mode "${mode}", in which it requests permission before it acts, so the permission policy "${policy}" cannot be enforced.`,
    );
  if (policy === 'allow' || mode !== undefined || env !== undefined || harness.isBuiltin) return [];
  return [
    `It is not known whether this agent requests permission before it acts: the permission policy "${policy}" applies to what it requests.`,
  ];
}

/** Model and reasoning level, where the session offers them. Returns a warning for each setting that the agent does not receive. */
async function selectModel({ session, assignment, harness, ask }: OpenSessionOptions): Promise<string[]> {
  const { model, reasoningLevel } = requestedModel(assignment.harness);
  const missing = await ask('session/set_config_option', session.configure({ model, thought_level: reasoningLevel }));
  return [
    ...(missing.includes('model') && !usesPlaceholder(harness, 'model')
      ? [`The agent does not offer the model ${model}; it uses its default model.`]
      : []),
    ...(missing.includes('thought_level') && !usesPlaceholder(harness, 'reasoning_level')
      ? [`The agent does not offer the reasoning level ${reasoningLevel}; it uses its default.`]
      : []),
  ];
}

/**
 * Loads the earlier session. Without a transcript the agent may start a new session. With one, an agent that cannot load
 * it must not continue without the earlier conversation.
 */
async function resume(options: OpenSessionOptions, mcpServers: McpServer[]): Promise<boolean> {
  const { session, assignment, cwd, transcriptPlaced, log } = options;
  const earlier = assignment.resume;
  if (!earlier) return false;
  if (!session.canResume || (earlier.transcript && !transcriptPlaced)) {
    log.warn('the earlier session cannot be loaded; a new one is started', { can_resume: session.canResume });
    return false;
  }
  try {
    await withAuthentication(options, 'session/load', () => session.resume(earlier.session_id, cwd, mcpServers));
    return true;
  } catch (error) {
    if (!(error instanceof AgentFailure) || !(error.cause instanceof RequestError)) throw error;
    if (transcriptPlaced) throw new AgentFailure(`The agent could not load the earlier session. ${error.message}`);
    log.warn('the earlier session is unknown to the agent; a new one is started', { error: errorText(error) });
    return false;
  }
}

const AUTH_REQUIRED = -32_000;

/** Agents report only with this error that they need authentication, for which their environment has a secret. */
async function withAuthentication(
  { session, harness, ask, log }: OpenSessionOptions,
  what: string,
  call: () => Promise<void>,
): Promise<void> {
  try {
    await ask(what, call());
  } catch (error) {
    const method = harness.auth_method;
    const cause = error instanceof AgentFailure ? error.cause : undefined;
    if (!(cause instanceof RequestError) || cause.code !== AUTH_REQUIRED) throw error;
    if (method === undefined || !session.supportsAuthMethod(method)) throw error;
    log.info('the agent requires authentication', { method });
    await ask('authenticate', session.authenticate(method));
    await ask(what, call());
  }
}
