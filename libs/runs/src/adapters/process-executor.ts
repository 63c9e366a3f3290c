import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { join } from 'node:path';
import { Settings } from '#libs/config';
import { Database, isDatabaseUnavailable } from '#libs/persistence';
import { removeTree, sweep, type SweepTargets } from '#libs/runner';
import type { RunnerHandover } from '#libs/runner-protocol';
import { FinishExecution } from '../application/execution/finish-execution.js';
import { Executor, type Offer } from '../application/ports.js';
import { ExecutionTokens } from '../domain/execution-token.js';
import { AgentUsers } from './agent-users.js';
import { findRunnerEntry, RunnerProcess } from './runner-process.js';
import { listWorkspaces, openWorkspacesDir } from './workspaces.js';

const REAP_INTERVAL_MS = 30_000;
const GUARD_INTERVAL_MS = 1000;
/** How long a runner may take to leave after its execution has ended. */
const LEAVE_SECONDS = 10;
const PHASE_POLL_MS = 250;

/**
 * Runs each execution as processes of this machine: a runner, and below it the agent in a workspace directory. As root
 * every execution has a numeric user of its own. See the README for what this does and does not isolate.
 */
@Injectable()
export class ProcessExecutor extends Executor {
  private readonly logger = new Logger(ProcessExecutor.name);
  private readonly tokens: ExecutionTokens;
  private readonly users: AgentUsers;
  private readonly runners = new Map<string, { runner: RunnerProcess; gone: Promise<void> }>();
  private readonly isRoot = process.getuid?.() === 0;
  private workspacesDir = '';
  private entry = '';

  constructor(
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly finish: FinishExecution,
    private readonly timers: SchedulerRegistry,
  ) {
    super();
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '');
    this.users = new AgentUsers(settings);
  }

  override async prepare(): Promise<void> {
    this.entry = findRunnerEntry();
    this.workspacesDir = openWorkspacesDir(this.settings);
    await this.reap();
    this.every('workspace-reaper', REAP_INTERVAL_MS, () => this.reap());
    this.every('runner-guard', GUARD_INTERVAL_MS, () => this.killForgotten());
  }

  override launch({ executionId, runId }: Offer): void {
    const runner = new RunnerProcess(this.entry, this.handover(executionId));
    this.logger.log({ msg: 'runner started', execution_id: executionId, run_id: runId, pid: runner.pid });
    const gone = runner.exited.then(async ({ code, signal }) => {
      if (code !== 0) this.logger.warn({ msg: 'runner ended', execution_id: executionId, run_id: runId, code, signal });
      await this.clear(executionId).catch((error: unknown) =>
        this.logger.error(`What is left of execution ${executionId} could not be cleared: ${String(error)}`),
      );
      if (code !== 0)
        await this.finish.lose(executionId, signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`);
    });
    const settled = gone
      .catch((error: unknown) => this.logger.warn(`Execution ${executionId} is left to its lease: ${String(error)}`))
      .finally(() => this.runners.delete(executionId));
    this.runners.set(executionId, { runner, gone: settled });
  }

  override async drain(graceMs: number): Promise<void> {
    for (const name of ['workspace-reaper', 'runner-guard'])
      if (this.timers.doesExist('interval', name)) this.timers.deleteInterval(name);
    const deadline = performance.now() + graceMs;
    const asked = new Set<string>();
    const isSomebodyUnasked = (): boolean => [...this.runners.keys()].some((executionId) => !asked.has(executionId));
    while (isSomebodyUnasked()) {
      const working = performance.now() < deadline ? await this.working() : new Set<string>();
      for (const [executionId, { runner }] of this.runners) {
        if (working.has(executionId) || asked.has(executionId)) continue;
        asked.add(executionId);
        runner.signal('SIGTERM');
      }
      if (isSomebodyUnasked()) await this.nextExit(PHASE_POLL_MS);
    }
    const patience = performance.now() + 2 * this.settings.cancelStep + 5000;
    while (this.runners.size > 0 && performance.now() < patience) await this.nextExit(patience - performance.now());
    for (const { runner } of this.runners.values()) runner.signal('SIGKILL');
    await Promise.all([...this.runners.values()].map(({ gone }) => gone));
  }

  private handover(executionId: string): RunnerHandover {
    const { maxWorkspaceBytes, maxOutputBytes, setupCommandTimeout, cancelStep, runnerApiUrl } = this.settings;
    const uid = this.uidOf(executionId);
    return {
      base_url: `${runnerApiUrl}/api/v1`,
      execution_id: executionId,
      token: this.tokens.mint(executionId),
      workspace_dir: this.workspaceOf(executionId),
      cookie: this.tokens.cookie(executionId),
      ...(uid === undefined ? {} : { run_as: { uid, gid: uid } }),
      limits: {
        max_workspace_bytes: maxWorkspaceBytes,
        max_output_bytes: maxOutputBytes,
        setup_command_timeout_seconds: setupCommandTimeout / 1000,
        cancel_step_seconds: cancelStep / 1000,
        max_artifact_bytes: this.settings.maxArtifactBytes,
      },
    };
  }

  private uidOf(executionId: string): number | undefined {
    if (!this.isRoot) return undefined;
    return this.users.uidOf(executionId);
  }

  private workspaceOf(executionId: string): string {
    return join(this.workspacesDir, executionId);
  }

  /** Nothing of the execution is left afterwards: no process, no file. */
  private async clear(executionId: string): Promise<void> {
    const uid = this.uidOf(executionId);
    const targets: SweepTargets = {
      cookie: this.tokens.cookie(executionId),
      directory: this.workspaceOf(executionId),
      ...(uid === undefined ? {} : { uid }),
    };
    const { left } = await sweep(targets);
    if (left > 0) this.logger.error(`${left} process(es) of execution ${executionId} survived SIGKILL.`);
    await removeTree(this.workspaceOf(executionId));
  }

  /** Clears workspaces whose execution has ended while nobody looked after it, such as after a crash of ours. */
  private async reap(): Promise<void> {
    const orphans = listWorkspaces(this.workspacesDir).filter((executionId) => !this.runners.has(executionId));
    if (orphans.length === 0) return;
    const live = await this.database.query<{ id: string }>(
      `SELECT id FROM executions WHERE id = ANY($1) AND ended_at IS NULL`,
      [orphans],
    );
    const alive = new Set(live.map(({ id }) => id));
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
    const forgotten = await this.database.query<{ id: string }>(
      `SELECT id FROM executions WHERE id = ANY($1) AND (end_reason IN ('lease_expired', 'fenced', 'claim_expired')
         OR ended_at < headrace.now() - $2 * interval '1 second')`,
      [[...this.runners.keys()], LEAVE_SECONDS],
    );
    for (const { id } of forgotten) this.runners.get(id)?.runner.signal('SIGKILL');
  }

  /** A tick that waits for the one before it, and whose fault costs one tick. */
  private every(name: string, milliseconds: number, work: () => Promise<void>): void {
    let running = false;
    const tick = (): void => {
      if (running) return;
      running = true;
      work()
        .catch((error: unknown) => {
          if (!isDatabaseUnavailable(error)) this.logger.warn(`${name}: ${String(error)}`);
        })
        .finally(() => {
          running = false;
        });
    };
    this.timers.addInterval(name, setInterval(tick, milliseconds));
  }

  /** Executions of ours whose agent works at this moment. With no answer from the database all count as working. */
  private async working(): Promise<Set<string>> {
    const ids = [...this.runners.keys()];
    try {
      const rows = await this.database.query<{ id: string }>(
        `SELECT id FROM executions WHERE id = ANY($1) AND phase = 'started'`,
        [ids],
      );
      return new Set(rows.map(({ id }) => id));
    } catch (error) {
      this.logger.warn(`Draining without the database: ${String(error)}`);
      return new Set(ids);
    }
  }

  private async nextExit(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([timeout, ...[...this.runners.values()].map(({ gone }) => gone)]);
    clearTimeout(timer);
  }
}
