import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { HostLog } from './host-log.js';
import { confinement, DEFAULT_MAX_PROCESSES } from './confinement.js';
import { forwardRunnerLine } from './runner-line.js';

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
        forwardRunnerLine(this.log, line, handover.execution_id),
      );
    return this;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
