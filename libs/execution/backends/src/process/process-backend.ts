import { join } from 'node:path';
import { type HostLog, RUNNER_EXIT } from '#execution/runner';
import type { GitHandover } from '#execution/runner-protocol';
import { findProgram, hasEnded, identify, isSameProcess, type ProcessIdentity } from '#platform/kernel';
import {
  type Backend,
  BackendFault,
  type BackendTask,
  type FoundTask,
  type RunningTask,
  StartFault,
  startStopped,
  type TaskEnd,
  type TaskHandle,
} from '../backend.js';
import { type AgentUserRange, AgentUsers } from './agent-users.js';
import { clearExecution } from './clear-execution.js';
import { OrphanRunner } from './orphan-runner.js';
import { RunnerProcess } from './runner-process.js';
import { RunnerRecords } from './runner-records.js';
import { WarmRunners } from './warm-runners.js';
import { listWorkspaces, openWorkspacesDir, type WorkspacesPlace } from './workspaces.js';

export interface ProcessBackendOptions extends AgentUserRange, WorkspacesPlace {
  /** How many runners wait for the next executions. Default: none. */
  readonly warmRunners?: number;
  /** Processes and threads of one execution; only as root. */
  readonly maxProcesses?: number;
  /** Variables of this machine for set-up commands and agents. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly git: GitHandover;
  /** The value by which all processes of an execution are found. */
  readonly marker: (executionId: string) => string;
}

/** The API is on the same machine or network, and the offers of living runners are extended. */
const CLAIM_DEADLINES = 4;

/**
 * Runs each execution as processes of this machine. As root every execution has a separate numeric user; docs/operations
 * says what this does and does not isolate.
 */
export class ProcessBackend implements Backend {
  readonly name = 'process';
  readonly claimDeadlines = CLAIM_DEADLINES;
  readonly isReady = true;
  private readonly users: AgentUsers | null;
  private readonly runners: WarmRunners;
  /** Of the runners that this process has started, by process id; null: it waits. */
  private readonly executions = new Map<number, string | null>();
  private records: RunnerRecords;
  private workspacesDir = '';
  private entry = '';

  constructor(
    private readonly options: ProcessBackendOptions,
    private readonly log: HostLog,
  ) {
    this.records = new RunnerRecords('', log);
    this.users = process.getuid?.() === 0 ? new AgentUsers(options) : null;
    const { warmRunners = 0, maxProcesses } = options;
    const create = (): RunnerProcess =>
      new RunnerProcess({ entry: this.entry, maxProcesses, isReused: warmRunners > 0 }, log);
    this.runners = new WarmRunners(create, warmRunners, log);
  }

  prepare(): Promise<void> {
    try {
      this.entry = findProgram();
      this.workspacesDir = openWorkspacesDir(this.options);
      this.records = new RunnerRecords(this.workspacesDir, this.log);
      this.runners.fill();
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(new BackendFault(error instanceof Error ? error.message : String(error)));
    }
  }

  check(): Promise<boolean> {
    return Promise.resolve(false);
  }

  start(task: BackendTask, signal: AbortSignal): Promise<RunningTask> {
    const { executionId } = task;
    if (signal.aborted) return Promise.reject(startStopped());
    const runner = this.runners.next();
    const identity = runner.pid === undefined ? null : identify(runner.pid);
    if (identity === null) {
      runner.signal('SIGKILL');
      return Promise.reject(new StartFault('runner_not_started', 'The runner could not be started.'));
    }
    const uid = this.users?.uidOf(executionId);
    const place = { workspace_dir: this.workspaceOf(executionId) };
    const record = { ...identity, started_at: Date.now(), ...(uid === undefined ? {} : { uid }) };
    const handle: TaskHandle = { ...record, ...place };
    const handover = task.handover({
      ...place,
      run_as: uid === undefined ? undefined : { uid, gid: uid },
      place_env: { ...this.options.environment },
      git: this.options.git,
    });
    this.executions.set(identity.pid, executionId);
    void runner.exited.then(() => this.executions.delete(identity.pid));
    let isOver = false;
    const ended = runner.reserve(executionId).then(async ({ code, signal }): Promise<TaskEnd> => {
      isOver = true;
      if (runner.isAvailable) this.executions.set(identity.pid, null);
      // Before the runner gets another execution: two records must not name the same process.
      if (!this.records.remove(executionId)) runner.signal('SIGTERM');
      await this.removeQuietly(executionId, handle, code === RUNNER_EXIT.reported && signal === null);
      this.runners.release(runner);
      return { kind: 'exited', code, signal };
    });
    return Promise.resolve({
      handle,
      begin: () => {
        this.records.write(executionId, record);
        runner.begin(handover);
        return Promise.resolve();
      },
      signal: (name) => {
        if (!isOver) runner.signal(name);
      },
      ended,
    });
  }

  reattach(executionId: string, handle: TaskHandle): Promise<RunningTask | null> {
    const identity = identityOf(handle);
    if (identity === null || hasEnded(identity)) return Promise.resolve(null);
    this.records.supervise(executionId);
    const runner = new OrphanRunner(identity);
    const ended = runner.gone.then(async (): Promise<TaskEnd> => {
      this.records.remove(executionId);
      await this.removeQuietly(executionId, handle);
      const message = 'The runner ended while no worker supervised it.';
      return { kind: 'vanished', reason: 'runner_vanished', message };
    });
    return Promise.resolve({
      handle,
      begin: () => Promise.resolve(),
      signal: (signal) => runner.signal(signal),
      ended,
    });
  }

  list(): Promise<FoundTask[]> {
    const executionIds = new Set([...listWorkspaces(this.workspacesDir), ...this.records.executions()]);
    return Promise.resolve(
      [...executionIds].map((executionId) => ({ executionId, ...this.records.find(executionId) })),
    );
  }

  async remove(executionId: string, handle: TaskHandle = {}): Promise<void> {
    await this.clear(executionId, handle, false);
    this.records.remove(executionId);
  }

  close(): void {
    this.runners.close();
  }

  private clear(executionId: string, handle: TaskHandle, isSwept: boolean): Promise<void> {
    const identity = identityOf(handle);
    const { workspace_dir: directory, uid, started_at: startedAt } = handle;
    return clearExecution(
      {
        executionId,
        marker: this.options.marker(executionId),
        workspaceDir: typeof directory === 'string' ? directory : this.workspaceOf(executionId),
        uid: typeof uid === 'number' ? uid : this.users?.uidOf(executionId),
        startedAt: typeof startedAt === 'number' ? startedAt : undefined,
        groups: identity !== null && this.isRunnerOf(identity, executionId) ? [identity.pid] : [],
        since: identity?.started,
        isSwept,
      },
      this.log,
    );
  }

  /** A runner that has ended the execution may wait, or have another one. */
  private isRunnerOf(identity: ProcessIdentity, executionId: string): boolean {
    const current = this.executions.get(identity.pid);
    return isSameProcess(identity) && (current === undefined || current === executionId);
  }

  private workspaceOf(executionId: string): string {
    return join(this.workspacesDir, executionId);
  }

  private async removeQuietly(executionId: string, handle: TaskHandle, isSwept = false): Promise<void> {
    await this.clear(executionId, handle, isSwept).catch((error: unknown) =>
      this.log.error('processes and files of an execution could not be removed', {
        execution_id: executionId,
        error: String(error),
      }),
    );
  }
}

function identityOf({ pid, started, boot }: TaskHandle): ProcessIdentity | null {
  const isWhole = typeof pid === 'number' && typeof started === 'string' && typeof boot === 'string';
  return isWhole ? { pid, started, boot } : null;
}
