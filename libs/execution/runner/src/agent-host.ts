import type { Assignment, SessionStarted } from '#execution/runner-protocol';
import { AgentSession } from './acp/agent-session.js';
import { AcpNormalizer } from './acp/normalizer.js';
import { PermissionBroker } from './acp/permission-broker.js';
import { retryInNotification, retryInUpdate, type RetryNotice, ProgressWatch } from './progress-watch.js';
import { TurnOutput, explainFailure } from './agent-failure.js';
import type { Harness } from './harness/harnesses.js';
import { launchHarness, type LaunchContext, sessionMeta } from './harness/launch.js';
import { TerminatedError, type Termination } from './termination.js';
import { type ManagedProcess, TailBuffer } from './process/managed-process.js';
import type { PlainEvent } from './protocol/outgoing-events.js';
import type { Redactor } from './redaction/redactor.js';
import type { RunnerLog } from './runner-log.js';
import { openSession } from './session-opener.js';
import { sleep } from './sleep.js';

const STARTUP_MS = 120_000;
const STDERR_BYTES = 8_192;

/** The agent of an execution: its process, its session, and its updates as run events. */
export class AgentHost {
  readonly normalizer = new AcpNormalizer();
  readonly permissions: PermissionBroker;
  readonly watch: ProgressWatch;
  readonly output = new TurnOutput();
  private readonly stderr = new TailBuffer(STDERR_BYTES);
  private started: ManagedProcess | null = null;
  private opened: AgentSession | null = null;
  private normalMode: string | undefined;

  constructor(
    private readonly assignment: Assignment,
    private readonly termination: Termination,
    private readonly redactor: Redactor,
    private readonly log: RunnerLog,
    private readonly emit: (event: PlainEvent) => void,
    progressTimeoutMs: number,
  ) {
    this.watch = new ProgressWatch({
      timeoutMs: progressTimeoutMs,
      isBusy: () => this.normalizer.hasOpenCalls || this.permissions.isWaiting,
      emit,
    });
    this.permissions = new PermissionBroker(assignment, this.normalizer, (text) => redactor.text(text), emit);
  }

  get process(): ManagedProcess | null {
    return this.started;
  }

  get session(): AgentSession | null {
    return this.opened;
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
    this.started = agent;
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
      { ...harness, session_meta: sessionMeta(harness, this.assignment) },
    );
    this.opened = session;
    const opened = await openSession({
      session,
      assignment: this.assignment,
      harness,
      cwd: context.workspace.work,
      transcriptPlaced,
      ask: (what, answer) => this.ask(what, answer, STARTUP_MS),
      log: this.log,
    });
    this.normalMode = session.currentMode;
    const { cost_usd: earlierCost } = this.assignment.resume ?? {};
    this.normalizer.startSession(harness.usage_scope ?? 'turn', opened.resumed, earlierCost);
    this.log.info('the agent is ready', { agent_pid: agent.pid, took_ms: Math.round(performance.now() - startedAt) });
    return opened;
  }

  /** Switches to the mode if the agent has it, else back to the initial mode of the session. */
  async setMode(mode: string): Promise<void> {
    const session = this.opened;
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
    const agent = this.started;
    if (!agent) throw new Error('The agent has not been started.');
    const over = new AbortController();
    const tooLate = timeoutMs === undefined ? null : rejectAfter(timeoutMs, over.signal);
    try {
      return await this.termination.race(Promise.race(tooLate ? [answer, tooLate] : [answer]));
    } catch (error) {
      if (this.termination.ending) throw new TerminatedError();
      // Redacted before it is cut to length: a truncated secret value would not be recognised.
      const stderr = (): string => this.redactor.text(this.stderr.toString());
      throw await this.termination.race(explainFailure(what, error, agent, stderr));
    } finally {
      over.abort();
    }
  }
}

function rejectAfter(ms: number, signal: AbortSignal): Promise<never> {
  const late = sleep(ms, signal).then((): never => {
    throw new Error(`no response within ${ms / 1000} s`);
  });
  late.catch(() => undefined);
  return late;
}
