import { type ChildProcess, spawn } from 'node:child_process';
import { removeTree, sweep } from '#execution/runner';

/** Processes and files that an execution leaves when its runner is killed. */
interface Remains {
  readonly marker: string;
  /** The temporary directory of the runner; never a directory of the user. */
  readonly directory: string;
}

const REMAINS = 'HEADRACE_REMAINS';
/** A waiting shell costs a hundredth of the memory of a waiting Node. The runner writes `done` at its end. */
const SCRIPT = `IFS= read -r remains; IFS= read -r word; [ "$word" = done ] || ${REMAINS}="$remains" exec "$0" "$@"`;

/**
 * Outlives this process: when the process ends without `done`, for example by SIGKILL, the guard kills every process of the
 * execution and removes its directory. Our own executors do that themselves; other starters of a runner do not.
 */
export class Guard {
  private constructor(private readonly shell: ChildProcess) {}

  static start(remains: Remains, entry: string): Guard {
    const shell = spawn('/bin/sh', ['-c', SCRIPT, process.execPath, entry, 'agent', 'sweep'], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin' },
    });
    // Without a shell there is no guard, and the execution does not depend on it.
    shell.on('error', () => undefined);
    shell.stdin?.on('error', () => undefined);
    shell.stdin?.write(`${JSON.stringify(remains)}\n`);
    shell.unref();
    return new Guard(shell);
  }

  dismiss(): void {
    this.shell.stdin?.end('done\n');
  }
}

/** Removes what a killed runner left; the guard starts a process for it. */
export async function sweepRemains(): Promise<void> {
  const { marker, directory } = JSON.parse(process.env[REMAINS] ?? '{}') as Partial<Remains>;
  if (marker === undefined || directory === undefined) throw new Error(`${REMAINS} must contain marker and directory.`);
  await sweep({ marker, directory });
  await removeTree(directory);
}
