import { readdirSync, readFileSync } from 'node:fs';

export interface FoundProcess {
  readonly pid: number;
  readonly argv: readonly string[];
  /** Of an agent and what it has started. */
  readonly runId: string | null;
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // It has ended, or is not ours to read.
  }
};

/**
 * Processes whose environment or arguments name the directory, zombies excluded. Each installation has a directory of its
 * own in PATH, which servers hand down to runners, and these to agents: nothing of another installation is found.
 */
export function processesNaming(directory: string): FoundProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const [commandLine, environment] = [read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)];
      if (commandLine === '' || !`${commandLine}${environment}`.includes(directory)) return [];
      const argv = commandLine.split('\0').filter((part) => part !== '');
      return [{ pid: Number(pid), argv, runId: /(?:^|\0)HEADRACE_RUN_ID=([^\0]*)/.exec(environment)?.[1] ?? null }];
    });
}

export function childrenOf(parent: number): Pick<FoundProcess, 'pid' | 'argv'>[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const stat = read(`/proc/${pid}/stat`);
      const [state, parentPid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z' || Number(parentPid) !== parent) return [];
      return [{ pid: Number(pid), argv: [read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()] }];
    });
}

export const isRunner = ({ argv }: FoundProcess): boolean => / agent run( --reuse)?$/.test(argv.join(' '));
export const isAgent = ({ argv }: FoundProcess): boolean => argv.includes('builtin-agent');

/** False when it was gone already. */
export function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
