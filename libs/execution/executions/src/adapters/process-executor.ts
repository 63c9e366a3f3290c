import { Injectable, Logger } from '@nestjs/common';
import { join } from 'node:path';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { findProgram } from '#platform/kernel';
import {
  AgentUsers,
  clearExecution,
  drainRunners,
  listWorkspaces,
  openWorkspacesDir,
  RunnerProcess,
  type StartedRunner,
  unreachableApiMessage,
} from '#execution/runner-host';
import { RUNNER_EXIT } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import { AssignmentSource } from '../application/assignment-source.js';
import { FinishExecution } from '../application/finish-execution.js';
import { Executor, type Offer } from '../application/executors.js';
import { ExecutionTokens } from '../domain/execution-token.js';
import { EXTEND_PROCESS_OFFERS_TASK, KILL_LOST_RUNNERS_TASK, REAP_WORKSPACES_TASK } from '../jobs/placement-jobs.js';
import { ExecutionQueries } from './execution-queries.js';
import { nestLog, type RunnerStartLimiter, runnerStartLimiter } from './runner-start-limiter.js';
import { localCloning, runnerHandover } from './runner-handover.js';

/** How long a runner tries to claim, in multiples of CLAIM_DEADLINE: the offers of living runners are extended. */
const CLAIM_DEADLINES = 4;

/**
 * Runs each execution as processes of this machine: a runner, and below it the agent in a workspace directory. As root
 * every execution has a separate numeric user. See docs/operations for what this does and does not isolate.
 */
@Injectable()
export class ProcessExecutor extends Executor {
  private readonly logger = new Logger(ProcessExecutor.name);
  private readonly log = nestLog('Runner');
  private readonly tokens: ExecutionTokens;
  private readonly users: AgentUsers;
  private readonly runners = new Map<string, StartedRunner>();
  private readonly starting: RunnerStartLimiter;
  private readonly upkeep: PeriodicTask[] = [];
  private readonly isRoot = process.getuid?.() === 0;
  private workspacesDir = '';
  private entry = '';

  constructor(
    private readonly settings: Settings,
    private readonly facts: ExecutionQueries,
    private readonly finish: FinishExecution,
    private readonly assignments: AssignmentSource,
    private readonly tasks: BackgroundTasks,
  ) {
    super();
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.users = new AgentUsers(settings);
    this.starting = runnerStartLimiter(settings, facts);
  }

  override async prepare(): Promise<void> {
    this.entry = findProgram();
    this.workspacesDir = openWorkspacesDir(this.settings);
    await this.reap();
    this.upkeep.push(
      this.tasks.run(REAP_WORKSPACES_TASK, () => this.reap()),
      this.tasks.run(EXTEND_PROCESS_OFFERS_TASK, () => this.starting.extendOffers()),
      this.tasks.run(KILL_LOST_RUNNERS_TASK, () => this.killForgotten()),
    );
  }

  override startCapacity(): Promise<number> {
    return this.starting.capacity();
  }

  override launch({ executionId, runId }: Offer): void {
    const runner = new RunnerProcess(this.entry, this.log, this.settings.agentMaxProcesses).assign(
      this.handover(executionId),
    );
    this.logger.log({ msg: 'runner started', execution_id: executionId, run_id: runId, pid: runner.pid });
    this.starting.started(executionId);
    const gone = runner.exited.then(async ({ code, signal }) => {
      this.starting.gone(executionId);
      const hint = code === RUNNER_EXIT.notClaimed ? unreachableApiMessage(this.settings.runnerApiUrl) : undefined;
      if (code !== 0)
        this.logger.warn({ msg: 'runner ended', execution_id: executionId, run_id: runId, code, signal, hint });
      await this.clear(executionId).catch((error: unknown) =>
        this.logger.error(`What is left of execution ${executionId} could not be cleared: ${String(error)}`),
      );
      if (code !== 0)
        await this.finish.lose(
          executionId,
          signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`,
          { detail: hint },
        );
    });
    const settled = gone
      .catch((error: unknown) => this.logger.warn(`Execution ${executionId} is left to its lease: ${String(error)}`))
      .finally(() => this.runners.delete(executionId));
    this.runners.set(executionId, { signal: (signal) => runner.signal(signal), gone: settled });
  }

  override async drain(graceMs: number): Promise<void> {
    for (const task of this.upkeep) void task.stop();
    await drainRunners({
      runners: this.runners,
      working: (ids) => this.facts.working(ids),
      graceMs,
      patienceMs: 2 * this.settings.cancelEscalationDelay + 5000,
      log: this.log,
    });
  }

  private handover(executionId: string): RunnerHandover {
    const uid = this.uidOf(executionId);
    return runnerHandover(this.settings, this.tokens, executionId, {
      workspace_dir: this.workspaceOf(executionId),
      claim_seconds: (this.settings.claimDeadline * CLAIM_DEADLINES) / 1000,
      ...(uid === undefined ? {} : { run_as: { uid, gid: uid } }),
      git: localCloning(this.settings),
      harnesses: this.assignments.harnesses,
    });
  }

  private uidOf(executionId: string): number | undefined {
    if (!this.isRoot) return undefined;
    return this.users.uidOf(executionId);
  }

  private workspaceOf(executionId: string): string {
    return join(this.workspacesDir, executionId);
  }

  private clear(executionId: string): Promise<void> {
    const remains = {
      executionId,
      marker: this.tokens.marker(executionId),
      workspaceDir: this.workspaceOf(executionId),
      uid: this.uidOf(executionId),
    };
    return clearExecution(remains, this.log);
  }

  /** Clears workspaces whose execution has ended while nobody looked after it, such as after a crash of ours. */
  private async reap(): Promise<void> {
    const orphans = listWorkspaces(this.workspacesDir).filter((executionId) => !this.runners.has(executionId));
    if (orphans.length === 0) return;
    const alive = await this.facts.live(orphans);
    for (const executionId of orphans.filter((id) => !alive.has(id))) {
      try {
        await this.clear(executionId);
        this.logger.log(`Cleared what was left of execution ${executionId}.`);
      } catch (error) {
        // One workspace that cannot be removed keeps neither the others nor the service.
        this.logger.error(`What is left of execution ${executionId} could not be cleared: ${String(error)}`);
      }
    }
  }

  /**
   * Kills runners whose execution was given up while they hang: a runner that cannot run its own timers cannot fence
   * itself, and the run may be executed again.
   */
  private async killForgotten(): Promise<void> {
    if (this.runners.size === 0) return;
    const forgotten = await this.facts.forgotten([...this.runners.keys()]);
    for (const executionId of forgotten) this.runners.get(executionId)?.signal('SIGKILL');
  }
}
