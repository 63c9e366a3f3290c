import { join } from 'node:path';
import { AgentUsers, clearExecution, type HostLog, openWorkspacesDir, RunnerProcess } from '#execution/runner-host';
import { findProgram, identify, isSameProcess, type ProcessIdentity } from '#platform/kernel';
import {
  type Backend,
  type BackendTask,
  type ClaimedTask,
  type TaskEnd,
  type TaskHandle,
  WorkerFault,
} from '../backend.js';
import type { JournalEntry } from '../journal.js';
import type { WorkerOptions } from '../options/read-worker-options.js';

/** Runs each execution as processes of this machine; as root under a separate numeric user. */
export class ProcessBackend implements Backend {
  readonly name = 'process';
  private readonly users: AgentUsers | null;
  private workspacesDir = '';
  private entry = '';

  /** @param installationKey chooses the range of users; never leaves the process. */
  constructor(
    private readonly options: WorkerOptions,
    installationKey: string,
    private readonly log: HostLog,
  ) {
    const { agentUidBase, agentUidCount } = options.process;
    this.users =
      process.getuid?.() === 0 ? new AgentUsers({ agentUidBase, agentUidCount, secretsKey: installationKey }) : null;
  }

  prepare(): Promise<void> {
    const { process: place, dataDir } = this.options;
    try {
      this.entry = findProgram();
      this.workspacesDir = openWorkspacesDir({
        workspacesDir: place.workspaceRoot,
        dataDir,
        settingName: '--workspace-root',
      });
    } catch (error) {
      return Promise.reject(new WorkerFault(error instanceof Error ? error.message : String(error)));
    }
    return Promise.resolve();
  }

  launch(task: ClaimedTask): Promise<BackendTask> {
    const { executionId } = task;
    const runner = new RunnerProcess(this.entry, this.log);
    const identity = runner.pid === undefined ? null : identify(runner.pid);
    if (identity === null) {
      runner.signal('SIGKILL');
      return Promise.reject(new Error('The runner could not be started.'));
    }
    const uid = this.users?.uidOf(executionId);
    const place = { workspace_dir: join(this.workspacesDir, executionId) };
    const handle: TaskHandle = { ...identity, ...place, ...(uid === undefined ? {} : { uid }) };
    const { environment, git } = this.options;
    const handover = task.handover({
      ...place,
      run_as: uid === undefined ? undefined : { uid, gid: uid },
      place_env: { ...environment },
      git: { ...git, mirrors_dir: join(this.options.dataDir, 'mirrors') },
    });
    const ended = runner.exited.then(async ({ code, signal }): Promise<TaskEnd> => {
      await this.clearQuietly(executionId, task.marker, handle);
      return { kind: 'exited', code, signal };
    });
    return Promise.resolve({
      handle,
      begin: () => {
        runner.assign(handover);
        return Promise.resolve();
      },
      signal: (signal) => runner.signal(signal),
      ended,
    });
  }

  reattach(entry: JournalEntry): Promise<BackendTask | null> {
    const identity = identityOf(entry.handle);
    if (identity === null || !isSameProcess(identity)) return Promise.resolve(null);
    const runner = new OrphanRunner(identity);
    const ended = runner.gone.then(async (): Promise<TaskEnd> => {
      await this.clearQuietly(entry.execution_id, entry.marker, entry.handle);
      return { kind: 'vanished', message: 'The runner ended while no worker supervised it.' };
    });
    return Promise.resolve({
      handle: entry.handle,
      begin: () => Promise.resolve(),
      signal: (signal) => runner.signal(signal),
      ended,
    });
  }

  clear({ execution_id: executionId, marker, handle }: JournalEntry): Promise<void> {
    const identity = identityOf(handle);
    const { workspace_dir: directory, uid } = handle;
    return clearExecution(
      {
        executionId,
        marker,
        workspaceDir: typeof directory === 'string' ? directory : join(this.workspacesDir, executionId),
        uid: typeof uid === 'number' ? uid : undefined,
        groups: identity !== null && isSameProcess(identity) ? [identity.pid] : [],
      },
      this.log,
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async clearQuietly(executionId: string, marker: string, handle: TaskHandle): Promise<void> {
    const entry = { task_id: '', execution_id: executionId, marker, started_at: '', backend: this.name, handle };
    await this.clear(entry).catch((error: unknown) =>
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

const POLL_MS = 500;

/** A runner that an earlier process of the daemon started, so it is not a child of this process. */
export class OrphanRunner {
  readonly gone: Promise<void>;

  constructor(private readonly identity: ProcessIdentity) {
    this.gone = new Promise((resolve) => {
      const timer = setInterval(() => {
        if (isSameProcess(identity)) return;
        clearInterval(timer);
        resolve();
      }, POLL_MS);
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!isSameProcess(this.identity)) return;
    try {
      process.kill(this.identity.pid, signal);
    } catch {
      return; // ended since the check
    }
  }
}
