import { RequestError, type McpServer } from '@agentclientprotocol/sdk';
import type { Assignment, SessionStarted } from '#execution/runner-protocol';
import { AgentSession, mcpServersFor } from './acp/agent-session.js';
import { AcpNormalizer } from './acp/normalizer.js';
import { PermissionBroker } from './acp/permission-broker.js';
import { retryInLog, retryInNotification, retryInUpdate, type RetryNotice, ProgressWatch } from './progress-watch.js';
import { AUTH_REQUIRED, EXIT_WAIT_MS, TurnOutput, explainFailure } from './agent-failure.js';
import type { Harness } from './harness/harnesses.js';
import { launchHarness, type LaunchContext, sessionMeta, requestedModel, usesPlaceholder } from './harness/launch.js';
import type { ExecutionOptions } from './execution-options.js';
import { TerminatedError } from './termination.js';
import { type ManagedProcess, TailBuffer } from './process/managed-process.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { settlesWithin } from './retry.js';
import { AgentFailure } from './acp/model-failure.js';
import { ASK_PERSON } from './tools/ask-person.js';
import { TOOL_SERVER } from './tools/tool-connection.js';
import { errorText } from './runner-log.js';

const STARTUP_MS = 120_000;
const DEFAULT_PROGRESS_TIMEOUT_SECONDS = 1_800;
const STDERR_BYTES = 8_192;
/** Time for an agent that has responded to write its session. */
const LEAVE_MS = 500;
const CLOSE_MS = 1_000;

export class AgentHost {
  readonly normalizer = new AcpNormalizer();
  readonly permissions: PermissionBroker;
  readonly watch: ProgressWatch;
  readonly output = new TurnOutput();
  private readonly stderr = new TailBuffer(STDERR_BYTES);
  private logLine = '';
  process: ManagedProcess | null = null;
  session: AgentSession | null = null;
  private normalMode: string | undefined;

  constructor(
    private readonly options: Pick<ExecutionOptions, 'handover' | 'assignment' | 'termination' | 'redactor' | 'log'>,
    private readonly emit: (event: PlainEvent) => void,
  ) {
    const { handover, assignment, redactor } = options;
    const { agent_progress_timeout_seconds: timeoutSeconds = DEFAULT_PROGRESS_TIMEOUT_SECONDS } = handover.limits;
    this.watch = new ProgressWatch({
      timeoutMs: timeoutSeconds * 1000,
      isBusy: () => this.normalizer.hasOpenCalls || this.permissions.isWaiting,
      emit,
    });
    this.permissions = new PermissionBroker(
      assignment,
      this.normalizer,
      (text) => redactor.text(text),
      handover.workspace_dir,
      emit,
      // A server of the run with this name replaces ours.
      TOOL_SERVER in assignment.mcp_servers ? null : `mcp__${TOOL_SERVER}__${ASK_PERSON}`,
    );
  }

  /** Starts the process and opens the session. Rejects with AgentFailure, or TerminatedError. */
  async start(
    harness: Harness,
    context: LaunchContext,
    transcriptPlaced: boolean,
    onProcess: (pid: number) => void,
    tools: McpServers = {},
  ): Promise<SessionStarted> {
    const startedAt = performance.now();
    const agent = await launchHarness(harness, context);
    this.process = agent;
    onProcess(agent.pid);
    agent.stderr.on('data', (chunk: Buffer) => {
      this.stderr.append(chunk);
      this.readLog(harness.id, chunk.toString());
    });
    const session = new AgentSession(
      agent,
      {
        onUpdate: (update) => this.update(update),
        onReplay: (update) => this.normalizer.replayed(update),
        onPermission: (request) => this.permissions.answer(request),
        onExtension: (method, params) => this.recordRetry(retryInNotification(method, params)),
      },
      { ...harness, session_meta: sessionMeta(harness, this.options.assignment) },
    );
    this.session = session;
    const opened = await openSession({
      ...this.options,
      session,
      harness,
      cwd: context.workspace.work,
      transcriptPlaced,
      tools,
      ask: (what, answer) => this.ask(what, answer, STARTUP_MS),
    });
    this.normalMode = session.currentMode;
    const { cost_usd: earlierCost } = this.options.assignment.resume ?? {};
    this.normalizer.startSession(harness.usage_scope ?? 'turn', opened.resumed, earlierCost);
    const tookMs = Math.round(performance.now() - startedAt);
    this.options.log.info('the agent is ready', { agent_pid: agent.pid, took_ms: tookMs });
    return opened;
  }

  /** Switches to the mode if the agent has it, else back to the initial mode of the session. */
  async setMode(mode: string): Promise<void> {
    const { session } = this;
    const wanted = session?.hasMode(mode) === true ? mode : this.normalMode;
    if (session && wanted !== undefined) await this.ask('session/set_mode', session.setMode(wanted), STARTUP_MS);
  }

  /** `turn`: the response to the current prompt; null when the agent is idle. Other processes are left to the sweep. */
  async stop(turn: Promise<unknown> | null, setup: ManagedProcess | null): Promise<void> {
    const { process: agent, session } = this;
    const { handover, termination } = this.options;
    const { urgent } = termination;
    const stopMode = termination.ending?.stopMode ?? 'kill';
    const stepMs = handover.limits.cancel_step_seconds * 1000;
    if (setup && !setup.hasExited) await endProcess(setup, stopMode === 'graceful' ? stepMs : 0, urgent);
    if (!agent) return;
    if (stopMode === 'close' && session && !urgent.aborted) {
      await settlesWithin(session.close(), CLOSE_MS, urgent);
      agent.stdin.end();
      await agent.exitsWithin(CLOSE_MS, urgent);
      return endProcess(agent, stepMs, urgent);
    }
    if (stopMode !== 'graceful' || urgent.aborted) return endProcess(agent, 0, urgent);
    if (session && turn) {
      session.cancel().catch(() => undefined); // an agent that does not receive it is ended below
      const answered = await settlesWithin(Promise.race([turn, agent.exited]), stepMs, urgent);
      if (answered) {
        agent.stdin.end();
        return endProcess(agent, Math.min(LEAVE_MS, stepMs), urgent);
      }
    }
    await endProcess(agent, stepMs, urgent);
  }

  private update(update: unknown): void {
    if (this.output.add(update)) this.watch.progress();
    this.recordRetry(retryInUpdate(update));
    this.normalizer.update(update).forEach(this.emit);
  }

  /** Of an incomplete line only the end is kept: an agent may write without limit. */
  private readLog(harness: string, text: string): void {
    const lines = `${this.logLine}${text}`.split('\n');
    this.logLine = (lines.pop() ?? '').slice(-STDERR_BYTES);
    for (const line of lines) this.recordRetry(retryInLog(harness, line));
  }

  private recordRetry(notice: RetryNotice | null): void {
    if (notice) this.watch.retry(notice);
  }

  /** Rejects with AgentFailure when the process of the agent has ended, or does so within a second. */
  async failIfExited(what: string): Promise<void> {
    const { process: agent } = this;
    if (agent && (await agent.exitsWithin(EXIT_WAIT_MS)))
      throw await this.explain(what, new Error('no process'), agent);
  }

  private explain(what: string, error: unknown, agent: ManagedProcess): Promise<AgentFailure> {
    // Redacted before it is cut to length: a truncated secret value would not be recognised.
    return explainFailure(what, error, agent, () => this.options.redactor.text(this.stderr.toString()));
  }

  /** Waits for an answer of the agent. Rejects with AgentFailure when there will be none, or TerminatedError. */
  async ask<T>(what: string, answer: Promise<T>, timeoutMs?: number): Promise<T> {
    const { process: agent } = this;
    if (!agent) throw new Error('The agent has not been started.');
    const { termination } = this.options;
    try {
      const isLate = timeoutMs !== undefined && !(await settlesWithin(answer, timeoutMs, termination.signal));
      if (isLate && !termination.ending) throw new Error(`no response within ${timeoutMs / 1000} s`);
      return await termination.race(Promise.race([answer, lostAnswer(agent, answer)]));
    } catch (error) {
      if (termination.ending) throw new TerminatedError();
      throw await termination.race(this.explain(what, error, agent));
    }
  }
}

/** Rejects when the process ends without the answer. Its children may hold the streams of a process that was killed. */
async function lostAnswer(agent: ManagedProcess, answer: Promise<unknown>): Promise<never> {
  await agent.exited;
  await settlesWithin(answer, EXIT_WAIT_MS);
  throw new Error('The process of the agent has ended.');
}

type McpServers = Assignment['mcp_servers'];

interface OpenSessionOptions extends Pick<ExecutionOptions, 'assignment' | 'log'> {
  readonly session: AgentSession;
  readonly harness: Harness;
  readonly cwd: string;
  readonly transcriptPlaced: boolean;
  /** Servers beside those of the run, which take precedence. */
  readonly tools: McpServers;
  readonly ask: <T>(what: string, answer: Promise<T>) => Promise<T>;
}

export async function openSession(options: OpenSessionOptions): Promise<SessionStarted> {
  const { session, assignment, cwd, ask, log, tools } = options;
  await ask('initialize', session.initialize());
  const mcp = mcpServersFor(
    { ...tools, ...assignment.mcp_servers },
    session.capabilities.mcpCapabilities?.http === true,
  );
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

/** Throws AgentFailure when the agent does not offer the mode that the run's policy requires. Returns warnings. */
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

/** False: a new session, whose first prompt begins with a summary of the conversation. */
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
    log.warn('the agent cannot load the earlier session; a new one is started', { error: errorText(error) });
    return false;
  }
}

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

/** SIGTERM to the group, SIGKILL to it after `graceMs`; with no grace SIGKILL at once. */
async function endProcess(process: ManagedProcess, graceMs: number, urgent: AbortSignal): Promise<void> {
  if (process.hasExited) return;
  if (graceMs > 0 && !urgent.aborted) {
    process.signal('SIGTERM');
    if (await process.exitsWithin(graceMs, urgent)) return;
  }
  process.signal('SIGKILL');
  // With a timeout: a process in an uninterruptible system call ends only when the call returns.
  await process.exitsWithin(2_000);
}
