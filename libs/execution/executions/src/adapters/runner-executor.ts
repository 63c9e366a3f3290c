import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask, type TaskDefinition, type TaskRun } from '#platform/jobs';
import { drainRunners, type HostLog, type StartedRunner } from '#execution/runner-host';
import type { GitHandover, RunnerHandover } from '#execution/runner-protocol';
import { AssignmentSource } from '../application/assignment-source.js';
import { Executor } from '../application/executors.js';
import { FinishExecution } from '../application/finish-execution.js';
import { EXTEND_OFFERS_TASK, KILL_LOST_RUNNERS_TASK } from '../application/tasks.js';
import { ExecutionTokens } from '../domain/execution-token.js';
import { ExecutionQueries } from './execution-queries.js';
import { RunnerStartLimiter } from './runner-start-limiter.js';

/**
 * Of CLAIM_DEADLINE, where the offer is not extended: the rest is for the start of the runner, and for its exit to be seen
 * before the offer is over.
 */
const CLAIM_SHARE = 2 / 3;

@Injectable()
export abstract class RunnerExecutor<Runner extends StartedRunner = StartedRunner> extends Executor {
  protected readonly logger = new Logger(this.constructor.name);
  protected readonly tokens: ExecutionTokens;
  protected readonly starting: RunnerStartLimiter;
  protected readonly runners = new Map<string, Runner>();
  private readonly running: PeriodicTask[] = [];

  constructor(
    protected readonly settings: Settings,
    protected readonly queries: ExecutionQueries,
    protected readonly finish: FinishExecution,
    protected readonly assignments: AssignmentSource,
    private readonly tasks: BackgroundTasks,
  ) {
    super();
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.starting = new RunnerStartLimiter({
      extendOffers: (ids) => queries.keepOffers(ids),
      claimDeadlineMs: settings.claimDeadline,
      slots: settings.maxConcurrentRuns,
      log: nestLog('Executor'),
    });
  }

  override startCapacity(): Promise<number> {
    return this.starting.capacity();
  }

  override async drain(graceMs: number): Promise<void> {
    for (const task of this.running) void task.stop();
    await drainRunners({
      runners: this.runners,
      working: (ids) => this.queries.working(ids),
      graceMs,
      patienceMs: 2 * this.settings.cancelEscalationDelay + 5000,
      log: nestLog('Executor'),
    });
  }

  protected startTasks(own: readonly (readonly [TaskDefinition, TaskRun])[]): void {
    const shared = [
      [EXTEND_OFFERS_TASK, () => this.starting.extendOffers()],
      [KILL_LOST_RUNNERS_TASK, () => this.killLost()],
    ] as const;
    for (const [definition, run] of [...shared, ...own]) this.running.push(this.tasks.run(definition, run));
  }

  protected handover(
    executionId: string,
    place: Pick<RunnerHandover, 'workspace_dir'> & Partial<RunnerHandover>,
  ): RunnerHandover {
    const { settings, tokens } = this;
    return {
      base_url: `${settings.runnerApiUrl}/api/v1`,
      execution_id: executionId,
      token: tokens.mint(executionId),
      marker: tokens.marker(executionId),
      claim_seconds: (settings.claimDeadline * CLAIM_SHARE) / 1000,
      limits: {
        max_workspace_bytes: settings.maxWorkspaceBytes,
        max_output_bytes: settings.maxOutputBytes,
        setup_command_timeout_seconds: settings.setupCommandTimeout / 1000,
        cancel_step_seconds: settings.cancelEscalationDelay / 1000,
        max_artifact_bytes: settings.maxArtifactBytes,
        agent_progress_timeout_seconds: settings.agentProgressTimeout / 1000,
      },
      git: this.cloning,
      harnesses: this.assignments.harnesses,
      ...place,
    };
  }

  protected get cloning(): GitHandover {
    const { gitCloneTimeout, gitMaxRepositoryBytes } = this.settings;
    return { clone_timeout_seconds: gitCloneTimeout / 1000, max_repository_bytes: gitMaxRepositoryBytes };
  }

  /** A runner that cannot run its own timers cannot fence itself, and the run may be executed again. */
  private async killLost(): Promise<void> {
    if (this.runners.size === 0) return;
    for (const executionId of await this.queries.over([...this.runners.keys()]))
      this.runners.get(executionId)?.signal('SIGKILL');
  }
}

export function nestLog(name: string): HostLog {
  const logger = new Logger(name);
  return {
    debug: (message, fields = {}) => logger.debug(message, fields),
    info: (message, fields = {}) => logger.log(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
  };
}
