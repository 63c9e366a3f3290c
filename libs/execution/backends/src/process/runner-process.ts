import { spawnSync, type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { findCommand, type HostLog } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import { findProgram } from '#platform/kernel';

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
    const { status } = spawnSync(program, [option, process.execPath, '--version'], { stdio: 'ignore', timeout: 5000 });
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

/**
 * A runner in a separate process session, so that signals to our process group do not reach it. It waits until
 * {@link assign} sends the hand-over on standard input; its environment and arguments contain no secrets.
 */
export class RunnerProcess {
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  private readonly child: ChildProcess;

  constructor(
    entry: string,
    private readonly log: HostLog,
    maxProcesses = DEFAULT_MAX_PROCESSES,
  ) {
    const { NODE_EXTRA_CA_CERTS } = process.env;
    const [program = process.execPath, ...args] = [
      ...confinement(maxProcesses),
      process.execPath,
      entry,
      'agent',
      'run',
    ];
    this.child = spawn(program, args, {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
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
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Once. */
  assign(handover: RunnerHandover): this {
    this.child.stdin?.end(`${JSON.stringify(handover)}\n`);
    if (this.child.stderr)
      createInterface({ input: this.child.stderr }).on('line', (line) =>
        logRunnerLine(this.log, line, handover.execution_id),
      );
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
