import { Injectable } from '@nestjs/common';
import {
  type BackendTask,
  type FoundTask,
  type RunnerPlace,
  type TaskEnd,
  unreachableApiMessage,
} from '#execution/backends';
import { RUNNER_EXIT } from '#execution/runner';
import type { GitHandover, RunnerHandover } from '#execution/runner-protocol';
import { type ExecutionRef, Worker, type WorkerTask, type WorkerTransport } from '#execution/worker';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { ExecutionTokens } from '../domain/execution-token.js';
import { HostedExecutionsStore } from '../persistence/hosted-executions.store.js';
import { AssignmentSource } from './assignment-source.js';
import { BackendRegistry } from './backend-registry.js';
import { FinishExecution } from './finish-execution.js';
import { nestLog } from './nest-log.js';
import { RunnerStartLimiter } from './runner-start-limiter.js';
import { CHECK_BACKEND_TASK, EXTEND_OFFERS_TASK, KILL_LOST_RUNNERS_TASK, REMOVE_LEFTOVERS_TASK } from './tasks.js';

/**
 * The worker of hosted runs, on the backend that EXECUTOR names. Its transport is this class: the claim of the runner is the
 * claim of the worker, so until then its offers are extended.
 */
@Injectable()
export class HostedWorker implements WorkerTransport {
  private readonly log = nestLog(HostedWorker.name);
  private readonly tokens: ExecutionTokens;
  private readonly starts: RunnerStartLimiter;
  private readonly periodicTasks: readonly PeriodicTask[];
  private created: Worker | null = null;
  private isDraining = false;
  /** Executions of other processes whose runner had stopped at the last look. Their process may be about to report it. */
  private stopped = new Set<string>();

  constructor(
    private readonly settings: Settings,
    private readonly backends: BackendRegistry,
    private readonly executions: HostedExecutionsStore,
    private readonly finish: FinishExecution,
    private readonly assignments: AssignmentSource,
    private readonly background: BackgroundTasks,
  ) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.starts = new RunnerStartLimiter({
      extendOffers: (ids) => executions.keepOffers(ids),
      claimDeadlineMs: settings.claimDeadline,
      slots: settings.maxConcurrentRuns,
      log: this.log,
    });
    this.periodicTasks = [
      background.implement(EXTEND_OFFERS_TASK, () => this.starts.extendOffers(), { startsBy: 'owner' }),
      background.implement(KILL_LOST_RUNNERS_TASK, () => this.killLost(), { startsBy: 'owner' }),
      background.implement(CHECK_BACKEND_TASK, () => this.checkBackend(), { startsBy: 'owner' }),
      background.implement(REMOVE_LEFTOVERS_TASK, () => this.removeLeftovers(), { startsBy: 'owner' }),
    ];
  }

  /** Prepares the backend, and removes what an earlier process has left. */
  async start(): Promise<void> {
    await this.backends.chosen.prepare();
    await this.removeLeftovers();
    for (const task of this.periodicTasks) await this.background.start(task);
  }

  /** How many more runners may be started now; fewer while they take long to claim their executions. */
  async capacity(): Promise<number> {
    return this.backends.chosen.isReady ? this.starts.capacity() : 0;
  }

  /** Returns immediately, and never throws because of one execution. */
  execute(offer: ExecutionRef): void {
    void this.worker.execute(offer, this.backendTask(offer));
  }

  /** Lets agents that work finish within `graceMs`, then ends the rest. Nothing runs afterwards. */
  async drain(graceMs: number): Promise<void> {
    this.isDraining = true;
    for (const task of this.periodicTasks) void task.stop();
    await this.worker.drain({
      working: (ids) => this.executions.working(ids),
      graceMs,
      patienceMs: 2 * this.settings.cancelEscalationDelay + 5000,
    });
  }

  claim(task: WorkerTask): Promise<boolean> {
    this.starts.accept(task.executionId, () => task.requestStop('lost'));
    return Promise.resolve(true);
  }

  /** After a restart the backend finds the runner, so nothing is stored. */
  started(task: WorkerTask): void {
    this.starts.begun(task.executionId);
  }

  launched(task: WorkerTask): void {
    this.starts.started(task.executionId);
  }

  async ended(task: WorkerTask, end: TaskEnd): Promise<void> {
    this.starts.gone(task.executionId);
    await this.report(task, end).catch((error: unknown) =>
      this.log.warn('an execution is left to its lease', { ...idsOf(task), error: String(error) }),
    );
  }

  /** Created when it is first used, because other modules register backends while they start. */
  private get worker(): Worker {
    return (this.created ??= new Worker(this.backends.chosen, this, this.log));
  }

  private backendTask({ executionId }: ExecutionRef): BackendTask {
    return {
      executionId,
      image: () => this.assignments.imageOf(executionId),
      handover: (place) => this.handover(executionId, place),
    };
  }

  private handover(executionId: string, place: RunnerPlace): RunnerHandover {
    const { settings, tokens } = this;
    return {
      base_url: `${settings.runnerApiUrl}/api/v1`,
      execution_id: executionId,
      token: tokens.mint(executionId),
      marker: tokens.marker(executionId),
      claim_seconds: (settings.claimDeadline * this.backends.chosen.claimDeadlines) / 1000,
      limits: {
        max_workspace_bytes: settings.maxWorkspaceBytes,
        max_output_bytes: settings.maxOutputBytes,
        setup_command_timeout_seconds: settings.setupCommandTimeout / 1000,
        cancel_step_seconds: settings.cancelEscalationDelay / 1000,
        max_artifact_bytes: settings.maxArtifactBytes,
        agent_progress_timeout_seconds: settings.agentProgressTimeout / 1000,
      },
      git: cloneLimits(settings),
      harnesses: this.assignments.harnesses,
      ...place,
    };
  }

  /** A runner that has reported the end of its execution leaves nothing to say. */
  private async report(task: WorkerTask, end: TaskEnd): Promise<void> {
    if (end.kind === 'exited' && end.code === RUNNER_EXIT.reported) return;
    if (end.kind === 'setup_failed' || end.kind === 'agent_failed') {
      const { message, exitCode } = end;
      const code = end.kind === 'setup_failed' ? 'environment_setup_failed' : 'agent_process_failed';
      this.log.warn('execution failed', { ...idsOf(task), code, problem: message });
      await this.finish.fail(task.executionId, { code, message, ...(exitCode === undefined ? {} : { exitCode }) });
      return;
    }
    const { reason, hint, ...cause } = lossOf(end, this.settings);
    const isLost = await this.finish.lose(task.executionId, reason, { detail: hint });
    // The exit code of a runner that another process has started is not known: it may have reported the end.
    if (isLost || end.kind === 'exited') this.log.warn('runner ended', { ...idsOf(task), ...cause, reason, hint });
  }

  /** A runner that cannot run its own timers cannot fence itself, and the run may be executed again. */
  private async killLost(): Promise<void> {
    const ids = this.worker.live.map(({ executionId }) => executionId);
    if (ids.length === 0) return;
    for (const executionId of await this.executions.over(ids)) this.worker.find(executionId)?.requestStop('lost');
  }

  private async checkBackend(): Promise<void> {
    if (await this.backends.chosen.check()) await this.removeLeftovers();
  }

  /** Removes executions that are over while no process supervises them, such as after a crash of a processor. */
  private async removeLeftovers(): Promise<void> {
    if (!this.backends.chosen.isReady) return;
    await this.removeUnsupervised().catch((error: unknown) =>
      this.log.warn('leftovers of executions could not be listed', { error: String(error) }),
    );
  }

  /**
   * An execution whose processor no longer exists is supervised again, so that a drain includes it, or is lost. An execution
   * whose runner has stopped at two looks is lost; any other is left to its lease.
   */
  private async removeUnsupervised(): Promise<void> {
    const found = await this.worker.unsupervised();
    const ids = found.map(({ executionId }) => executionId);
    const over = ids.length === 0 ? new Set<string>() : await this.executions.over(ids);
    const before = this.stopped;
    this.stopped = new Set(found.filter(({ state }) => state === 'stopped').map(({ executionId }) => executionId));
    for (const task of found)
      if (over.has(task.executionId)) await this.remove(task);
      else if (task.state === 'orphaned') await this.supervise(task);
      else if (this.stopped.has(task.executionId) && before.has(task.executionId) && (await this.remove(task)))
        await this.finish.lose(task.executionId, 'runner_vanished');
  }

  private async supervise({ executionId, handle }: FoundTask): Promise<void> {
    const runId = await this.executions.runOf(executionId);
    if (runId !== null && !this.isDraining) await this.worker.reattach({ executionId, runId }, handle);
  }

  private async remove(task: FoundTask): Promise<boolean> {
    const isRemoved = await this.worker.remove(task);
    if (isRemoved) this.log.info('leftovers of an execution removed', { execution_id: task.executionId });
    return isRemoved;
  }
}

const idsOf = ({ executionId, runId }: ExecutionRef) => ({ execution_id: executionId, run_id: runId });

function lossOf(end: Extract<TaskEnd, { kind: 'exited' | 'vanished' }>, { runnerApiUrl }: Settings) {
  if (end.kind === 'vanished') return { reason: end.reason, problem: end.message, hint: end.hint };
  const { code, signal } = end;
  const reason = signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`;
  return {
    reason,
    code,
    signal,
    hint: code === RUNNER_EXIT.notClaimed ? unreachableApiMessage(runnerApiUrl) : undefined,
  };
}

export function cloneLimits({
  gitCloneTimeout,
  gitMaxRepositoryBytes,
}: Pick<Settings, 'gitCloneTimeout' | 'gitMaxRepositoryBytes'>): GitHandover {
  return { clone_timeout_seconds: gitCloneTimeout / 1000, max_repository_bytes: gitMaxRepositoryBytes };
}
