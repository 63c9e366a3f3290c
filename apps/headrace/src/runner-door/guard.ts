import { type ChildProcess, spawn } from 'node:child_process';
import { removeTree, sweep } from '#execution/runner';

/** What is left of an execution when its runner was killed. */
interface Remains {
  readonly cookie: string;
  /** The runner's own directory; never somebody's. */
  readonly directory: string;
}

const REMAINS = 'HEADRACE_REMAINS';
/** A shell that waits costs a hundredth of what a Node that waits does. `done` is the runner's last word. */
const SCRIPT = `IFS= read -r remains; IFS= read -r word; [ "$word" = done ] || ${REMAINS}="$remains" exec "$0" "$@"`;

/**
 * Outlives this process: when it dies without having said `done`, as by SIGKILL, every process of its execution is killed
 * and its directory removed. Our own executors see to that themselves; whoever else starts a runner does not.
 */
export class Guard {
  private constructor(private readonly shell: ChildProcess) {}

  static post(remains: Remains, entry: string): Guard {
    const shell = spawn('/bin/sh', ['-c', SCRIPT, process.execPath, entry, 'agent', 'sweep'], {
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin' },
    });
    // Without a shell there is no guard; the execution does not depend on one.
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

/** What the guard becomes when its runner has died. */
export async function clearRemains(): Promise<void> {
  const { cookie, directory } = JSON.parse(process.env[REMAINS] ?? '{}') as Partial<Remains>;
  if (cookie === undefined || directory === undefined)
    throw new Error(`${REMAINS} does not say what is to be cleared.`);
  await sweep({ cookie, directory });
  await removeTree(directory);
}
