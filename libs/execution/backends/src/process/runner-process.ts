import { spawnSync, type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ExecutionResult, findCommand, type HostLog, REUSE_OPTION } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import { findProgram, isAlive, parseJson } from '#platform/kernel';

/** Processes and threads of one execution's user; enough for builds and browsers, too few for a fork bomb. */
export const DEFAULT_MAX_PROCESSES = 4096;

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const known = new Map<number, readonly string[]>();

/**
 * Command prefix of a runner that denies privileges by set-user-ID programs and limits the number of processes; agents
 * inherit both. Only as root, where executions have separate users, and only as far as this machine supports it:
 * containers may forbid it.
 */
export function confinement(maxProcesses: number): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const found = known.get(maxProcesses) ?? probe(maxProcesses);
  known.set(maxProcesses, found);
  return found;
}

function probe(maxProcesses: number): readonly string[] {
  const parts = [
    ['setpriv', '--no-new-privs'],
    ['prlimit', `--nproc=${maxProcesses}`],
  ];
  return parts.flatMap(([name = '', option = '']) => {
    const program = findCommand(name, SYSTEM_PATH);
    if (program === null) return [];
    const { status } = spawnSync(program, [option, '/bin/true'], { stdio: 'ignore', timeout: 5000 });
    return status === 0 ? [program, option] : [];
  });
}

/** Runners log JSON lines; any other output is from a crash and logged as a warning. */
export function logRunnerLine(log: HostLog, line: string, executionId: string): void {
  try {
    const { level, msg = 'runner', ...fields } = JSON.parse(line) as { level?: string; msg?: string };
    log[level === 'error' || level === 'warn' ? level : 'debug'](msg, { ...fields, execution_id: executionId });
  } catch {
    log.warn('runner output', { execution_id: executionId, line: line.slice(0, 2000) });
  }
}

/** The command of a runner that reads its hand-over, one line of JSON, from its standard input. */
export const runnerCommand = (): readonly [program: string, ...args: string[]] => [
  process.execPath,
  findProgram(),
  'agent',
  'run',
];

/** A hint for operators when a runner ended with RUNNER_EXIT.notClaimed. */
export const unreachableApiMessage = (runnerApiUrl: string): string =>
  `The runner could not reach the API at ${runnerApiUrl} (RUNNER_API_URL).`;

/** How a process, or one execution of it, has ended. */
export interface RunnerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunnerProcessOptions {
  readonly entry: string;
  readonly maxProcesses?: number | undefined;
  /** The runner waits for the next hand-over after an execution that ended as expected. */
  readonly isReused: boolean;
}

/**
 * A runner in a separate process session, so that signals to our process group do not reach it. It waits until
 * {@link begin} sends a hand-over on standard input; its environment and arguments contain no secrets. It ends with this
 * process, after its execution, because its input is closed then.
 */
export class RunnerProcess {
  readonly exited: Promise<RunnerEnd>;
  /** The last one that {@link reserve} got. */
  private executionId = '';
  private readonly child: ChildProcess;
  private isSignalled = false;
  private isWaiting = true;
  private resolveEnd: (end: RunnerEnd) => void = () => undefined;

  constructor(
    private readonly options: RunnerProcessOptions,
    private readonly log: HostLog,
  ) {
    const { entry, maxProcesses = DEFAULT_MAX_PROCESSES, isReused } = options;
    const { NODE_EXTRA_CA_CERTS } = process.env;
    const [program = process.execPath, ...args] = [
      ...confinement(maxProcesses),
      process.execPath,
      entry,
      'agent',
      'run',
      ...(isReused ? [`--${REUSE_OPTION}`] : []),
    ];
    this.child = spawn(program, args, {
      detached: true,
      cwd: '/',
      stdio: ['pipe', isReused ? 'pipe' : 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
        LANG: process.env.LANG ?? 'C.UTF-8',
        NODE_ENV: 'production',
        // The certificate of the API may be issued by a private authority.
        ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
      },
    });
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => resolve({ code, signal }));
      this.child.once('error', (error) => {
        log.error(`A runner could not be started: ${error.message}`);
        resolve({ code: 127, signal: null });
      });
    });
    // A runner that ends before it has read its hand-over breaks the pipe; its exit code has the reason.
    this.child.stdin?.on('error', (error) => log.debug(`A runner closed its input: ${error.message}`));
    this.readLines(this.child.stdout, (line) => this.receive(line));
    this.readLines(this.child.stderr, (line) => logRunnerLine(log, line, this.executionId));
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Whether it waits for a hand-over. A runner that got a signal ends, maybe after it has reported its last execution. */
  get isAvailable(): boolean {
    return this.isWaiting && !this.isSignalled && this.pid !== undefined && isAlive(this.pid);
  }

  /** Resolves at the end of the execution, or of the process. The execution begins with {@link begin}. */
  reserve(executionId: string): Promise<RunnerEnd> {
    this.executionId = executionId;
    this.isWaiting = false;
    return Promise.race([this.exited, new Promise<RunnerEnd>((resolve) => (this.resolveEnd = resolve))]);
  }

  begin(handover: RunnerHandover): void {
    this.child.stdin?.write(`${JSON.stringify(handover)}\n`);
    if (!this.options.isReused) this.close();
  }

  /** The process ends when it has no execution. */
  close(): void {
    this.child.stdin?.end();
  }

  signal(signal: NodeJS.Signals): void {
    this.isSignalled = true;
    this.child.kill(signal);
  }

  private readLines(stream: Readable | null, onLine: (line: string) => void): void {
    if (stream) createInterface({ input: stream }).on('line', onLine);
  }

  private receive(line: string): void {
    const { execution_id, exit_code: code } = (parseJson(line) ?? {}) as Partial<ExecutionResult>;
    if (this.isWaiting || execution_id !== this.executionId || code === undefined) {
      this.log.warn('runner output', { execution_id: this.executionId, line: line.slice(0, 2000) });
      return;
    }
    this.isWaiting = true;
    this.resolveEnd({ code, signal: null });
  }
}
