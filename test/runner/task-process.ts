import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Assignment } from '#execution/runner-protocol';
import { ControlPlaneDouble } from '#testing';
import { mainProgram } from './runner-process.js';

export interface TaskOptions {
  readonly assignment?: Partial<Assignment>;
  /** Arguments after `--task-id ID --sandboxed --server-root-url URL`. */
  readonly more?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Prepares the double before the runner starts. */
  readonly prepare?: (plane: ControlPlaneDouble) => void;
  /** The task and the server are not named. */
  readonly bare?: boolean;
}

/** `agent run` started the way the published daemon starts it, with the environment that its direct backend makes. */
export class TaskProcess {
  readonly log: string[] = [];

  private constructor(
    readonly plane: ControlPlaneDouble,
    readonly child: ChildProcess,
    /** The daemon's directory for the task, in which it starts the runner. */
    readonly cwd: string,
    private readonly directory: string,
    readonly exited: Promise<number | NodeJS.Signals | null>,
  ) {}

  static async start({
    assignment,
    more = [],
    env = {},
    bare = false,
    prepare,
  }: TaskOptions = {}): Promise<TaskProcess> {
    if (!existsSync(mainProgram)) throw new Error('Build first: npm run build');
    const plane = await ControlPlaneDouble.start(assignment);
    prepare?.(plane);
    const directory = await mkdtemp(join(tmpdir(), 'headrace-task-'));
    const [cwd, tmp, home] = ['task', 'tmp', 'home'].map((name) => join(directory, name)) as [string, string, string];
    for (const made of [cwd, tmp, home]) await mkdir(made);
    const { run_id: taskId, execution_id: executionId } = plane.assignment;
    const root = plane.baseUrl.replace('/api/v1', '');
    const vector = ['--share', 'team:edit', '--task-id', taskId, '--sandboxed', '--server-root-url', root];
    const child = spawn(process.execPath, [mainProgram, 'agent', 'run', ...(bare ? [] : vector), ...more], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        TMPDIR: tmp,
        TASK_ID: taskId,
        GIT_TERMINAL_PROMPT: '0',
        GH_PROMPT_DISABLED: '1',
        HEADRACE_EXECUTION_ID: executionId,
        HEADRACE_EXECUTION_TOKEN: plane.token,
        ...env,
      },
    });
    const exited = new Promise<number | NodeJS.Signals | null>((resolve) =>
      child.once('exit', (code, signal) => resolve(code ?? signal)),
    );
    const task = new TaskProcess(plane, child, cwd, directory, exited);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => task.log.push(chunk.toString()));
    return task;
  }

  get logged(): string {
    return this.log.join('');
  }

  /** Where the runner makes its temporary directories. */
  get tmp(): string {
    return join(this.directory, 'tmp');
  }

  async leftInTmp(): Promise<string[]> {
    return readdir(this.tmp);
  }

  async dispose(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.plane.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
