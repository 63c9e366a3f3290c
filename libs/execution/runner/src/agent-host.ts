import type { SessionStarted } from '#execution/runner-protocol';
import { AgentSession } from './acp/agent-session.js';
import { AcpNormalizer } from './acp/normalizer.js';
import { PermissionBroker } from './acp/permission-broker.js';
import { retryInNotification, retryInUpdate, type RetryNotice, ProgressWatch } from './progress-watch.js';
import { TurnOutput, explainFailure } from './agent-failure.js';
import type { Harness } from './harness/harnesses.js';
import { launchHarness, type LaunchContext, sessionMeta } from './harness/launch.js';
import type { ExecutionOptions } from './execution-options.js';
import { TerminatedError } from './termination.js';
import { type ManagedProcess, TailBuffer } from './process/managed-process.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import { settlesWithin } from './retry.js';
import { openSession } from './session-opener.js';

const STARTUP_MS = 120_000;
const DEFAULT_PROGRESS_TIMEOUT_SECONDS = 1_800;
const STDERR_BYTES = 8_192;

/** The agent of an execution: its process, its session, and its updates as run events. */
export class AgentHost {
  readonly normalizer = new AcpNormalizer();
  readonly permissions: PermissionBroker;
  readonly watch: ProgressWatch;
  readonly output = new TurnOutput();
  private readonly stderr = new TailBuffer(STDERR_BYTES);
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
    this.permissions = new PermissionBroker(assignment, this.normalizer, (text) => redactor.text(text), emit);
  }

  /** Starts the process and opens the session. Rejects with AgentFailure, or TerminatedError. */
  async start(
    harness: Harness,
    context: LaunchContext,
    transcriptPlaced: boolean,
    onProcess: (pid: number) => void,
  ): Promise<SessionStarted> {
    const startedAt = performance.now();
    const agent = await launchHarness(harness, context);
    this.process = agent;
    onProcess(agent.pid);
    agent.stderr.on('data', (chunk: Buffer) => this.stderr.append(chunk));
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
      session,
      assignment: this.options.assignment,
      harness,
      cwd: context.workspace.work,
      transcriptPlaced,
      ask: (what, answer) => this.ask(what, answer, STARTUP_MS),
      log: this.options.log,
    });
    this.normalMode = session.currentMode;
    const { cost_usd: earlierCost } = this.options.assignment.resume ?? {};
    this.normalizer.startSession(harness.usage_scope ?? 'turn', opened.resumed, earlierCost);
    this.options.log.info('the agent is ready', {
      agent_pid: agent.pid,
      took_ms: Math.round(performance.now() - startedAt),
    });
    return opened;
  }

  /** Switches to the mode if the agent has it, else back to the initial mode of the session. */
  async setMode(mode: string): Promise<void> {
    const { session } = this;
    const wanted = session?.hasMode(mode) === true ? mode : this.normalMode;
    if (session && wanted !== undefined) await this.ask('session/set_mode', session.setMode(wanted), STARTUP_MS);
  }

  private update(update: unknown): void {
    if (this.output.add(update)) this.watch.progress();
    this.recordRetry(retryInUpdate(update));
    this.normalizer.update(update).forEach(this.emit);
  }

  private recordRetry(notice: RetryNotice | null): void {
    if (notice) this.watch.retry(notice);
  }

  /** Waits for an answer of the agent. Rejects with AgentFailure when there will be none, or TerminatedError. */
  async ask<T>(what: string, answer: Promise<T>, timeoutMs?: number): Promise<T> {
    const { process: agent } = this;
    if (!agent) throw new Error('The agent has not been started.');
    const { termination } = this.options;
    try {
      const isLate = timeoutMs !== undefined && !(await settlesWithin(answer, timeoutMs, termination.signal));
      if (isLate && !termination.ending) throw new Error(`no response within ${timeoutMs / 1000} s`);
      return await termination.race(answer);
    } catch (error) {
      if (termination.ending) throw new TerminatedError();
      // Redacted before it is cut to length: a truncated secret value would not be recognised.
      const stderr = (): string => this.options.redactor.text(this.stderr.toString());
      throw await termination.race(explainFailure(what, error, agent, stderr));
    }
  }
}
