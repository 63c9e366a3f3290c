import { newUuid, type Clock } from '#libs/kernel';
import type { Assignment, Commands, Desired, RunnerEventKind, RunnerHandover, TurnStarted } from '#libs/runner-protocol';
import { AgentSession } from './acp/agent-session.js';
import { AcpNormalizer } from './acp/normalizer.js';
import { PermissionDesk } from './acp/permission-desk.js';
import { explainFailure } from './agent-failure-message.js';
import { findHarness, harnessIds, type Harness } from './harness/harnesses.js';
import { AgentFailure, executionEnvironment, launchHarness, type LaunchContext } from './harness/launch.js';
import { cancelled, closed, failed, Halted, handedBack, stopped, type Ending, type Interruption } from './interruption.js';
import { bringDown } from './process/bring-down.js';
import { killMatching, sweep, type SweepTargets } from './process/kill-tree.js';
import type { ManagedProcess } from './process/managed-process.js';
import { TailBuffer } from './process/tail-buffer.js';
import type { PlainEvent } from './protocol/coalesce.js';
import type { ControlPlane } from './protocol/control-plane.js';
import { CONTINUE_PROMPT, Inbox, type Prompt } from './protocol/inbox.js';
import type { Outbox } from './protocol/outbox.js';
import { errorText, type RunnerLog } from './runner-log.js';
import { openSession } from './session-opener.js';
import { runSetup, setupFailureMessage } from './setup/run-setup.js';
import { sleep } from './sleep.js';
import { watchDisk } from './workspace/disk-meter.js';
import { TranscriptSync } from './workspace/transcript-sync.js';
import { Workspace } from './workspace/workspace.js';

export interface ExecutionOptions {
  readonly handover: RunnerHandover;
  readonly assignment: Assignment;
  readonly plane: ControlPlane;
  readonly outbox: Outbox;
  readonly interruption: Interruption;
  readonly builtinAgentArgs: readonly string[];
  readonly clock: Clock;
  readonly log: RunnerLog;
}

const STARTUP_MS = 120_000;
const STDERR_BYTES = 8_192;
const SWEEP_MS = 30_000;

interface OpenTurn {
  readonly id: string;
  readonly answer: Promise<unknown>;
}

/** One execution from its workspace to its last event; claiming before it and finishing after it are the caller's. */
export class Execution {
  private readonly inbox = new Inbox();
  private readonly normalizer = new AcpNormalizer();
  private readonly permissions: PermissionDesk;
  private readonly groups: number[] = [];
  private readonly stderr = new TailBuffer(STDERR_BYTES);
  private workspace: Workspace | null = null;
  private transcripts: TranscriptSync | null = null;
  private setup: ManagedProcess | null = null;
  private agent: ManagedProcess | null = null;
  private session: AgentSession | null = null;
  private turn: OpenTurn | null = null;
  /** Updates before the first turn; they are told with it. */
  private early: PlainEvent[] | null = [];
  private hasStarted = false;
  private isIdle = false;
  private closeWanted = false;
  private basePromptDue = false;

  constructor(private readonly options: ExecutionOptions) {
    this.permissions = new PermissionDesk(options.assignment, this.normalizer, (event) => this.emit(event));
  }

  onCommands({ prompts, decisions }: Commands): void {
    this.inbox.receive(prompts);
    this.permissions.decide(decisions);
  }

  onDesired(desired: Desired, reason?: string): void {
    const { interruption } = this.options;
    this.closeWanted = desired === 'close';
    if (desired === 'stop') interruption.decide(cancelled('ladder', reason));
    else if (desired === 'kill') interruption.decide(cancelled('kill', reason));
    else if (this.closeWanted && this.isIdle) interruption.decide(closed(reason));
  }

  /** The runner itself is told to stop: the first time with manners, then without. */
  onShutdown(urgent: boolean): void {
    const ending = this.isIdle && this.hasStarted ? closed('The runner was stopped.') : this.hasStarted ? stopped() : handedBack();
    this.options.interruption.decide(urgent ? { ...ending, manner: 'kill' } : ending);
  }

  /** SIGKILL to everything, now, synchronously. */
  killNow(): void {
    killMatching(this.targets());
  }

  /** Works until there is an ending, then brings everything down and reports what is to be reported before `finish`. */
  async run(): Promise<Ending> {
    const { interruption, log } = this.options;
    try {
      interruption.decide(await this.work());
    } catch (error) {
      if (error instanceof AgentFailure) interruption.decide(failed('agent_process_failed', error.message, error.exitCode));
      else if (!(error instanceof Halted)) {
        log.error('the runner has failed', { error: errorText(error) });
        interruption.decide(failed('internal_error', `The runner has failed: ${errorText(error)}`));
      }
    }
    const ending = interruption.ending ?? closed();
    log.info('ending', { manner: ending.manner, outcome: ending.report.outcome, error_code: ending.report.error_code });
    await this.endProcesses();
    if (!interruption.isFenced) await this.reportRest(interruption.ending ?? ending);
    return interruption.ending ?? ending;
  }

  async removeWorkspace(): Promise<void> {
    await this.workspace?.remove(this.options.log);
  }

  private async work(): Promise<Ending> {
    const { handover, assignment, interruption } = this.options;
    const harness = this.harness();
    const workspace = await Workspace.create(handover.workspace_dir, handover.run_as);
    this.workspace = workspace;
    this.limitDisk(workspace);
    this.push('sandbox_ready', {});
    this.transcripts = new TranscriptSync(this.options.plane, harness, workspace, this.options.log);
    const { resume } = assignment;
    // Before anything else runs in there: nobody can have laid a trap where the file goes.
    const transcriptPlaced = resume?.transcript === true && (await interruption.orHalt(this.transcripts.fetch(resume.session_id)));
    const context: LaunchContext = { workspace, assignment, cookie: handover.cookie };
    const setupFailure = await this.runSetupCommands(context);
    if (setupFailure) return setupFailure;
    const session = await this.openAgent(harness, context, transcriptPlaced);
    return this.converse(session, harness);
  }

  private harness(): Harness {
    const { handover, assignment, builtinAgentArgs } = this.options;
    const extra = handover.harnesses ?? {};
    const harness = findHarness(assignment.harness.type, extra, builtinAgentArgs);
    if (harness) return harness;
    throw new AgentFailure(`There is no harness "${assignment.harness.type}". Known are: ${harnessIds(extra).join(', ')}.`);
  }

  private limitDisk(workspace: Workspace): void {
    const { handover, interruption } = this.options;
    const limit = handover.limits.max_workspace_bytes;
    void watchDisk(workspace.root, limit, interruption.signal).then((bytes) => {
      const message = `The workspace takes ${bytes} bytes on disk; the limit (max_workspace_bytes) is ${limit}.`;
      interruption.decide(failed('agent_process_failed', message));
    });
  }

  private async runSetupCommands(context: LaunchContext): Promise<Ending | null> {
    const { handover, assignment, interruption } = this.options;
    const commands = assignment.environment?.setup_commands ?? [];
    if (commands.length === 0) return null;
    this.push('setup_started', { commands: commands.length });
    const timeoutSeconds = handover.limits.setup_command_timeout_seconds;
    const running = runSetup({
      commands,
      cwd: context.workspace.work,
      env: executionEnvironment(context),
      ...(context.workspace.runAs ? { runAs: context.workspace.runAs } : {}),
      timeoutSeconds,
      onProcess: (process) => {
        this.setup = process;
        this.groups.push(process.pid);
      },
      onFinished: (result) => this.push('setup_command_finished', result),
      signal: interruption.signal,
    });
    const failure = await interruption.orHalt(running);
    if (failure === null) return null;
    return failed('environment_setup_failed', setupFailureMessage(failure, timeoutSeconds), failure.result.exit_code);
  }

  private async openAgent(harness: Harness, context: LaunchContext, transcriptPlaced: boolean): Promise<AgentSession> {
    const { assignment, log } = this.options;
    if (this.options.interruption.ending) throw new Halted();
    const agent = await launchHarness(harness, context);
    this.agent = agent;
    this.groups.push(agent.pid);
    agent.stderr.on('data', (chunk: Buffer) => this.stderr.append(chunk));
    const session = new AgentSession(agent, {
      onUpdate: (update) => this.normalizer.update(update).forEach((event) => this.emit(event)),
      onReplay: (update) => this.normalizer.replayed(update),
      onPermission: (request) => this.permissions.answer(request),
    });
    this.session = session;
    const startedAt = performance.now();
    const started = await openSession({
      session,
      assignment,
      cwd: context.workspace.work,
      transcriptPlaced,
      ask: (what, answer) => this.ask(what, answer, STARTUP_MS),
      log,
    });
    log.info('the agent is ready', { agent_pid: agent.pid, took_ms: Math.round(performance.now() - startedAt) });
    this.push('session_started', started);
    this.basePromptDue = !started.resumed && assignment.base_prompt !== null && assignment.base_prompt !== '';
    return session;
  }

  /** Turn after turn, until the execution is told to end or the idle agent leaves. */
  private async converse(session: AgentSession, harness: Harness): Promise<Ending> {
    const { assignment } = this.options;
    const { prompt: first, mode } = assignment;
    let prompt: Prompt | null = first === null ? await this.nextPrompt(session) : { text: first.trim() === '' ? CONTINUE_PROMPT : first, mode };
    while (prompt !== null) {
      await this.runTurn(session, harness, prompt);
      prompt = await this.nextPrompt(session);
    }
    return { ...closed('The agent process ended while it was idle.'), manner: 'kill' };
  }

  /** null: the agent has gone. */
  private async nextPrompt(session: AgentSession): Promise<Prompt | null> {
    const { interruption } = this.options;
    this.isIdle = true;
    if (this.closeWanted) interruption.decide(closed());
    const next = await interruption.orHalt(Promise.race([this.inbox.next(), session.closed.then(() => null)]));
    this.isIdle = false;
    return next;
  }

  private async runTurn(session: AgentSession, harness: Harness, prompt: Prompt): Promise<void> {
    const { assignment, outbox, interruption } = this.options;
    if (!this.hasStarted) {
      // From here on the agent may act, and acts are never repeated: the control plane must know before the agent does.
      this.hasStarted = true;
      this.push('agent_started', { harness: harness.id, pid: this.agent?.pid });
      await interruption.orHalt(outbox.flush());
    }
    if (prompt.mode !== undefined) await this.ask('session/set_mode', session.setMode(prompt.mode), STARTUP_MS);
    const turnId = newUuid();
    this.push<TurnStarted>('turn_started', {
      turn_id: turnId,
      prompt: prompt.text,
      ...(prompt.followupId === undefined ? {} : { followup_id: prompt.followupId }),
      ...(prompt.mode === undefined ? {} : { mode: prompt.mode }),
    });
    this.normalizer.startTurn();
    for (const event of this.early ?? []) this.push(event.kind, event.data);
    this.early = null;
    const text = this.basePromptDue ? `${assignment.base_prompt ?? ''}\n\n${prompt.text}` : prompt.text;
    this.basePromptDue = false;
    const answer = session.prompt(text);
    this.turn = { id: turnId, answer };
    const response = await this.ask('the turn', answer);
    const { stopReason } = response;
    // Nobody has asked it to stop: a turn that the agent cancels by itself is not one that a person has cancelled.
    const byItself = stopReason === 'cancelled';
    const closing = this.normalizer.closeOpenCalls(byItself ? 'failed' : 'completed');
    for (const event of [...this.normalizer.turnUsage(response), ...closing]) this.emit(event);
    // Before the turn is told to be over: who sees its end finds its transcript.
    await interruption.orHalt(this.transcripts?.upload(session.id) ?? Promise.resolve());
    this.turn = null;
    if (byItself) this.push('turn_ended', { turn_id: turnId, stop_reason: 'error', message: 'The agent cancelled the turn by itself.' });
    else this.push('turn_ended', { turn_id: turnId, stop_reason: stopReason });
  }

  private async ask<T>(what: string, answer: Promise<T>, timeoutMs?: number): Promise<T> {
    const { interruption } = this.options;
    const agent = this.agent;
    if (!agent) throw new Error('There is no agent to ask.');
    const over = new AbortController();
    const late = timeoutMs === undefined ? [] : [sleep(timeoutMs, over.signal).then((): never => {
      throw new Error(`no answer within ${timeoutMs / 1000} s`);
    })];
    for (const promise of late) promise.catch(() => undefined);
    try {
      return await interruption.orHalt(Promise.race([answer, ...late]));
    } catch (error) {
      if (error instanceof Halted || interruption.ending) throw new Halted();
      throw await interruption.orHalt(explainFailure(what, error, agent, () => this.stderr.toString()));
    } finally {
      over.abort();
    }
  }

  private async endProcesses(): Promise<void> {
    const { interruption, handover, log } = this.options;
    this.permissions.cancelAll();
    await bringDown({
      manner: interruption.ending?.manner ?? 'kill',
      agent: this.agent,
      session: this.session,
      turn: this.turn?.answer ?? null,
      setup: this.setup,
      stepMs: handover.limits.cancel_step_seconds * 1000,
      urgent: interruption.urgent,
    });
    const { killed, left } = await sweep(this.targets(), SWEEP_MS);
    if (left > 0) log.error('processes are left that cannot be killed', { left });
    else log.info('all processes are gone', { swept: killed });
  }

  private async reportRest({ openTurn }: Ending): Promise<void> {
    const { interruption, outbox, log } = this.options;
    const { turn, session } = this;
    try {
      if (turn) for (const event of this.normalizer.closeOpenCalls('failed')) this.emit(event);
      if (session && this.hasStarted) await this.transcripts?.upload(session.id);
      if (turn && !interruption.isFenced) this.push('turn_ended', { turn_id: turn.id, ...openTurn });
      await outbox.flush();
    } catch (error) {
      log.warn('the last reports could not be delivered', { error: errorText(error) });
    }
  }

  private targets(): SweepTargets {
    const { cookie, run_as: runAs, workspace_dir: directory } = this.options.handover;
    // A user is swept only when it is the execution's own.
    const ownUser = runAs && runAs.uid !== 0 && runAs.uid !== process.getuid?.() ? { uid: runAs.uid } : {};
    return { groups: this.groups, cookie, directory, ...ownUser };
  }

  private emit(event: PlainEvent): void {
    if (this.early) this.early.push(event);
    else this.push(event.kind, event.data);
  }

  private push<T extends object>(kind: RunnerEventKind, data: T): void {
    if (!this.options.interruption.isFenced) this.options.outbox.push(kind, data);
  }
}
