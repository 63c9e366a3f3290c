import { spawnSync, type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RunnerHandover } from '#execution/runner-protocol';
import { type HostLog, logRunnerLine } from './host-log.js';

/** Processes and threads of one execution's user; enough for builds and browsers, too few for a fork bomb. */
export const DEFAULT_MAX_PROCESSES = 4096;

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const known = new Map<number, readonly string[]>();

/**
 * What stands before the command of a runner, so that the agents that it starts gain no privileges by set-user-ID
 * programs and have so many processes at most. The runner passes both on. Only as root, where executions have users of
 * their own, and only what this machine has and lets us do: containers may forbid it.
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
    const program = find(name);
    if (program === null) return [];
    const { status } = spawnSync(program, [option, process.execPath, '--version'], { stdio: 'ignore', timeout: 5000 });
    return status === 0 ? [program, option] : [];
  });
}

function find(name: string): string | null {
  for (const directory of SYSTEM_PATH.split(delimiter)) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not there: the next one.
    }
  }
  return null;
}

/** What a runner that ended with RUNNER_EXIT.notClaimed means to the operator of the processor. */
export const unreachableApiMessage = (runnerApiUrl: string): string =>
  `The runner could not reach the API at ${runnerApiUrl} (RUNNER_API_URL).`;

export interface RunnerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A runner in a session of its own, so that a signal to our process group does not reach it. It does nothing until
 * {@link assign} gives it its assignment and token on standard input; its environment and argv hold nothing secret.
 */
export class RunnerProcess {
  readonly exited: Promise<RunnerExit>;
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
        // The runner trusts the authorities that we trust: the API may have a certificate of a private one.
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
    // A runner that dies before it has read its assignment breaks the pipe; its exit tells the story.
    this.child.stdin?.on('error', (error) => log.debug(`A runner closed its input: ${error.message}`));
  }

  /** Also its process group. Undefined: it could not be started. */
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
