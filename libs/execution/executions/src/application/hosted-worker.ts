import { Injectable } from '@nestjs/common';
import type { RunnerPlace } from '#execution/backends';
import type { GitHandover, RunnerHandover } from '#execution/runner-protocol';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { ExecutionTokens } from '../domain/execution-token.js';
import { HostedExecutionsStore } from '../persistence/hosted-executions.store.js';
import { AssignmentSource } from './assignment-source.js';
import { BackendRegistry } from './backend-registry.js';
import { drainRunners } from './drain-runners.js';
import { FinishExecution } from './finish-execution.js';
import { HostedTask, type Offer } from './hosted-task.js';
import { nestLog } from './nest-log.js';
import { RunnerStartLimiter } from './runner-start-limiter.js';
import { CHECK_BACKEND_TASK, EXTEND_OFFERS_TASK, KILL_LOST_RUNNERS_TASK, REMOVE_LEFTOVERS_TASK } from './tasks.js';

/** Executes hosted runs on the backend that EXECUTOR names. */
@Injectable()
export class HostedWorker {
  private readonly log = nestLog(HostedWorker.name);
  private readonly tokens: ExecutionTokens;
  private readonly starts: RunnerStartLimiter;
  private readonly tasks = new Map<string, HostedTask>();
  private readonly periodicTasks: readonly PeriodicTask[];
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
  execute(offer: Offer): void {
    const { settings, executions, finish, assignments, starts, log } = this;
    const { executionId } = offer;
    const task = new HostedTask(offer, {
      backend: this.backends.chosen,
      task: {
        executionId,
        image: () => assignments.imageOf(executionId),
        handover: (place) => this.handover(executionId, place),
      },
      ...{ executions, finish, starts, settings, log },
    });
    this.tasks.set(executionId, task);
    void task.gone.finally(() => this.tasks.delete(executionId));
  }

  /** Lets agents that work finish within `graceMs`, then ends the rest. Nothing runs afterwards. */
  async drain(graceMs: number): Promise<void> {
    for (const task of this.periodicTasks) void task.stop();
    await drainRunners({
      runners: this.tasks,
      working: (ids) => this.executions.working(ids),
      graceMs,
      patienceMs: 2 * this.settings.cancelEscalationDelay + 5000,
      log: this.log,
    });
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

  /** A runner that cannot run its own timers cannot fence itself, and the run may be executed again. */
  private async killLost(): Promise<void> {
    if (this.tasks.size === 0) return;
    for (const executionId of await this.executions.over([...this.tasks.keys()]))
      this.tasks.get(executionId)?.signal('SIGKILL');
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

  /** An execution whose runner has stopped at two looks is lost; one whose runner may be alive is left to its lease. */
  private async removeUnsupervised(): Promise<void> {
    const backend = this.backends.chosen;
    const found = (await backend.list()).filter(({ executionId }) => !this.tasks.has(executionId));
    const ids = found.map(({ executionId }) => executionId);
    const over = ids.length === 0 ? new Set<string>() : await this.executions.over(ids);
    const before = this.stopped;
    this.stopped = new Set(found.filter(({ state }) => state === 'stopped').map(({ executionId }) => executionId));
    for (const { executionId, handle } of found) {
      const isOver = over.has(executionId);
      if (!isOver && !(this.stopped.has(executionId) && before.has(executionId))) continue;
      try {
        await backend.remove(executionId, handle);
        if (!isOver) await this.finish.lose(executionId, 'runner_vanished');
        this.log.info('leftovers of an execution removed', { execution_id: executionId });
      } catch (error) {
        // What cannot be removed must not keep the others, nor the service.
        const fields = { execution_id: executionId, error: String(error) };
        this.log.error('leftovers of an execution could not be removed', fields);
      }
    }
  }
}

export function cloneLimits({
  gitCloneTimeout,
  gitMaxRepositoryBytes,
}: Pick<Settings, 'gitCloneTimeout' | 'gitMaxRepositoryBytes'>): GitHandover {
  return { clone_timeout_seconds: gitCloneTimeout / 1000, max_repository_bytes: gitMaxRepositoryBytes };
}
