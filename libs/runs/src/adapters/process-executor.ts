import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Settings } from '#libs/config';
import { Database } from '#libs/persistence';
import { sweep, type SweepTargets } from '#libs/runner';
import type { RunnerHandover } from '#libs/runner-protocol';
import { FinishExecution } from '../application/execution/finish-execution.js';
import { Executor, type Offer } from '../application/ports.js';
import { ExecutionTokens } from '../domain/execution-token.js';
import { findRunnerEntry, RunnerProcess } from './runner-process.js';
import { listWorkspaces, openWorkspacesDir } from './workspaces.js';

const REAP_INTERVAL_MS = 30_000;
const PHASE_POLL_MS = 250;

/**
 * Runs each execution as processes of this machine: a runner, and below it the agent in a workspace directory. As root
 * every execution has a numeric user of its own. See the README for what this does and does not isolate.
 */
@Injectable()
export class ProcessExecutor extends Executor {
  private readonly logger = new Logger(ProcessExecutor.name);
  private readonly tokens: ExecutionTokens;
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
  }

  override async prepare(): Promise<void> {
    this.entry = findRunnerEntry();
    this.workspacesDir = openWorkspacesDir(this.settings);
    await this.reap();
    const timer = setInterval(() => {
      this.reap().catch((error: unknown) =>
        this.logger.warn(`Left-over workspaces could not be cleared: ${String(error)}`),
      );
    }, REAP_INTERVAL_MS);
    this.timers.addInterval('workspace-reaper', timer);
  }

  override launch({ executionId, runId }: Offer): void {
    const runner = new RunnerProcess(this.entry, this.handover(executionId));
    this.logger.log({ msg: 'runner started', execution_id: executionId, run_id: runId, pid: runner.pid });
    const gone = runner.exited.then(async ({ code, signal }) => {
      if (code !== 0) this.logger.warn({ msg: 'runner ended', execution_id: executionId, run_id: runId, code, signal });
      await this.clear(executionId);
      if (code !== 0)
        await this.finish.lose(executionId, signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`);
    });
    const settled = gone
      .catch((error: unknown) => this.logger.warn(`Execution ${executionId} is left to its lease: ${String(error)}`))
      .finally(() => this.runners.delete(executionId));
    this.runners.set(executionId, { runner, gone: settled });
  }

  override async drain(graceMs: number): Promise<void> {
    if (this.timers.doesExist('interval', 'workspace-reaper')) this.timers.deleteInterval('workspace-reaper');
    const deadline = performance.now() + graceMs;
    const asked = new Set<string>();
    while (this.runners.size > 0 && asked.size < this.runners.size) {
      const working = performance.now() < deadline ? await this.working() : new Set<string>();
      for (const [executionId, { runner }] of this.runners) {
        if (working.has(executionId) || asked.has(executionId)) continue;
        asked.add(executionId);
        runner.signal('SIGTERM');
      }
      if (asked.size < this.runners.size) await this.nextExit(PHASE_POLL_MS);
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
      },
    };
  }

  private uidOf(executionId: string): number | undefined {
    if (!this.isRoot) return undefined;
    return this.settings.agentUidBase + Number(BigInt(executionId) % BigInt(this.settings.agentUidCount));
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
    await rm(this.workspaceOf(executionId), { recursive: true, force: true, maxRetries: 3 });
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
      await this.clear(executionId);
      this.logger.log(`Cleared what was left of execution ${executionId}.`);
    }
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
