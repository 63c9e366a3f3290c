import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  Backend,
  BackendFault,
  type BackendTask,
  clearExecution,
  Extension,
  type FoundTask,
  identify,
  isSameProcess,
  PluginVariables,
  type ProcessIdentity,
  runnerCommand,
  type RunningTask,
  StartFault,
  startStopped,
  type TaskEnd,
  type TaskHandle,
} from 'headrace/plugin';

/** Runners get less time than the service, but never so little that their leases end. */
const NICENESS = 2;
const POLL_MS = 200;

/** What is known of an execution after this process has ended. The marker finds its processes. */
interface ExecutionRecord {
  readonly marker: string;
  readonly identity: ProcessIdentity;
}

/**
 * Starts each runner as a process of this machine that leaves the processors to everything else. Agents run as the user of
 * Headrace: for trusted prompts only.
 */
@Extension()
export class NiceBackend extends Backend {
  override readonly name = 'nice';
  override readonly claimDeadlines = 4;
  override readonly isReady = true;
  private readonly logger = new Logger(NiceBackend.name);
  private readonly directory: string;

  constructor(variables: PluginVariables) {
    super();
    const { DIRECTORY = join(tmpdir(), 'headrace-nice') } = variables.of('example-backend');
    this.directory = DIRECTORY;
  }

  override async prepare(): Promise<void> {
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw new BackendFault(`${this.directory} cannot be created (${String(error)}).`);
    }
  }

  override check(): Promise<boolean> {
    return Promise.resolve(false);
  }

  override async start(task: BackendTask, signal: AbortSignal): Promise<RunningTask> {
    const { executionId } = task;
    if (signal.aborted) throw startStopped();
    const handover = task.handover({ workspace_dir: this.workspaceOf(executionId) });
    const child = spawn('nice', ['-n', String(NICENESS), ...runnerCommand()], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', NODE_ENV: 'production' },
    });
    const exited = exitOf(child);
    // A runner that ends before it has read its hand-over breaks the pipe; its exit code has the reason.
    child.stdin?.on('error', () => undefined);
    const identity = child.pid === undefined ? null : identify(child.pid);
    if (identity === null) throw new StartFault('runner_not_started', 'The runner could not be started.');
    const record: ExecutionRecord = { marker: handover.marker, identity };
    await writeFile(this.recordOf(executionId), JSON.stringify(record), { mode: 0o600 });
    return {
      handle: { ...identity },
      begin: () => {
        child.stdin?.end(`${JSON.stringify(handover)}\n`);
        return Promise.resolve();
      },
      signal: (name) => void child.kill(name),
      ended: exited.then(async (end) => {
        await this.removeQuietly(executionId);
        return end;
      }),
    };
  }

  override reattach(executionId: string, handle: TaskHandle): Promise<RunningTask | null> {
    const { pid, started, boot } = handle as unknown as ProcessIdentity;
    const identity = { pid, started, boot };
    if (!isSameProcess(identity)) return Promise.resolve(null);
    return Promise.resolve({
      handle,
      begin: () => Promise.resolve(),
      signal: (name) => {
        if (isSameProcess(identity)) process.kill(pid, name);
      },
      ended: this.endOf(executionId, identity),
    });
  }

  override async list(): Promise<FoundTask[]> {
    const records = (await readdir(this.directory)).filter((name) => name.endsWith('.json'));
    return Promise.all(
      records.map(async (name): Promise<FoundTask> => {
        const executionId = name.slice(0, -'.json'.length);
        const record = await this.readRecord(executionId);
        const isRunning = record !== null && isSameProcess(record.identity);
        return { executionId, handle: { ...record?.identity }, state: isRunning ? 'running' : 'stopped' };
      }),
    );
  }

  override async remove(executionId: string): Promise<void> {
    const record = await this.readRecord(executionId);
    if (record === null) return;
    const groups = isSameProcess(record.identity) ? [record.identity.pid] : [];
    const workspaceDir = this.workspaceOf(executionId);
    await clearExecution({ executionId, workspaceDir, marker: record.marker, groups }, this.logger);
    await rm(this.recordOf(executionId), { force: true });
  }

  /** The exit code of a process that somebody else has started is unknown. */
  private async endOf(executionId: string, identity: ProcessIdentity): Promise<TaskEnd> {
    while (isSameProcess(identity)) await sleep(POLL_MS);
    await this.removeQuietly(executionId);
    return { kind: 'vanished', reason: 'runner_vanished', message: 'The runner ended while nothing supervised it.' };
  }

  private async removeQuietly(executionId: string): Promise<void> {
    try {
      await this.remove(executionId);
    } catch (error) {
      this.logger.error(`Execution ${executionId} could not be removed: ${String(error)}`);
    }
  }

  /** Null when there is nothing of the execution. */
  private async readRecord(executionId: string): Promise<ExecutionRecord | null> {
    try {
      return JSON.parse(await readFile(this.recordOf(executionId), 'utf8')) as ExecutionRecord;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  private recordOf(executionId: string): string {
    return join(this.directory, `${executionId}.json`);
  }

  private workspaceOf(executionId: string): string {
    return join(this.directory, executionId);
  }
}

async function exitOf(child: ChildProcess): Promise<TaskEnd> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return { kind: 'exited', code, signal };
  } catch (error) {
    return { kind: 'vanished', reason: 'runner_not_started', message: String(error) };
  }
}
