import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface SeenProcess {
  readonly pid: number;
  readonly parentPid: number;
  readonly groupId: number;
}

const COOKIE_NAME = 'HEADRACE_EXECUTION_COOKIE';

/** Living processes other than this one (zombies don't count). Empty where there is no /proc. */
export function scanProcesses(): SeenProcess[] {
  return listPids().flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`)?.toString('latin1');
    if (stat === undefined) return [];
    // The name in parentheses may itself hold spaces and parentheses; the fields start behind the last one.
    const [state, parentPid, groupId] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === undefined || state === 'Z' || state === 'X') return [];
    return [{ pid, parentPid: Number(parentPid), groupId: Number(groupId) }];
  });
}

/** Whether the environment the process was started with carries the cookie. */
export function hasCookie(pid: number, cookie: string): boolean {
  const environ = read(`/proc/${pid}/environ`);
  return environ !== null && `\0${environ.toString('latin1')}\0`.includes(`\0${COOKIE_NAME}=${cookie}\0`);
}

/**
 * Whether real, effective or saved user of the process is `uid`. Not the owner of `/proc/<pid>`: that one is root
 * for every process that has changed its user.
 */
export function runsAs(pid: number, uid: number): boolean {
  const line = /^Uid:\s+(.+)$/m.exec(read(`/proc/${pid}/status`)?.toString('latin1') ?? '')?.[1];
  return line !== undefined && line.split(/\s+/).slice(0, 3).includes(String(uid));
}

/** Whether the process works inside a directory; false when that cannot be known. */
export function worksIn(pid: number, directory: string): boolean {
  try {
    const cwd = readlinkSync(`/proc/${pid}/cwd`);
    return cwd === directory || cwd.startsWith(`${directory}/`) || cwd === `${directory} (deleted)`;
  } catch {
    return false;
  }
}

function listPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid);
  } catch {
    return [];
  }
}

/** Processes come and go while they are read, and some are none of our business: both read as nothing. */
function read(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
