import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

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
