import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { sleep } from '../retry.js';

const MARKER_VARIABLE = 'HEADRACE_EXECUTION_MARKER';
/** How long a sweep waits for programs that are being started. Some kernels, such as gVisor, do not show when that is over. */
const EXEC_MS = 500;

/** Living processes other than this one (zombies don't count). Empty where there is no /proc. */
function scanProcesses(since = 0): { pid: number; parentPid: number; groupId: number }[] {
  return listPids().flatMap((pid) => {
    const { 0: state, 1: parentPid, 2: groupId, 19: started } = statFields(pid);
    if (state === undefined || state === 'Z' || state === 'X' || Number(started) < since) return [];
    return [{ pid, parentPid: Number(parentPid), groupId: Number(groupId) }];
  });
}

/** Those of `/proc/<pid>/stat` from the state on; none of a process that has ended. */
function statFields(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  // The name in parentheses may itself hold spaces and parentheses; the fields start behind the last one.
  return stat === null ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Whether exec is replacing the program: the process has memory, and the environment of the new program is not there yet. */
function isStarting(pid: number): boolean {
  const { 20: memoryBytes, 48: environmentEnd } = statFields(pid);
  return environmentEnd === '0' && Number(memoryBytes) > 0;
}

/** Whether the environment the process was started with carries the marker. Undefined while exec replaces the program. */
export function hasMarker(pid: number, marker: string): boolean | undefined {
  let environ = read(`/proc/${pid}/environ`);
  if (environ === '') {
    if (isStarting(pid)) return undefined;
    // The program may have been replaced between the two looks.
    environ = read(`/proc/${pid}/environ`);
  }
  return environ !== null && `\0${environ}\0`.includes(`\0${MARKER_VARIABLE}=${marker}\0`);
}

/** Compares the real, effective and saved user: the owner of `/proc/<pid>` is root after a change of the user. */
export function runsAs(pid: number, uid: number): boolean {
  const line = /^Uid:\s+(.+)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
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

/** One for all files: a sweep reads hundreds, and readFileSync allocates 64 KiB for each file of /proc. */
const block = Buffer.allocUnsafe(65_536);

/** As Latin-1. null for processes that end while they are read, and for those that may not be read. */
function read(path: string): string | null {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    let text = '';
    for (;;) {
      const length = readSync(file, block);
      if (length === 0) return text;
      text += block.toString('latin1', 0, length);
    }
  } catch {
    return null;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

export interface SweepTargets {
  readonly groups?: readonly number[];
  /** Every process whose start environment contains it, `setsid` children too. */
  readonly marker?: string;
  /** Every process of this user, which only one execution uses; never root and never our own user. */
  readonly uid?: number | undefined;
  /** Orphans that work in this directory: started in the execution, detached, and with their environment emptied. */
  readonly directory?: string | undefined;
  /** `processStart` of the runner: processes of its executions are not older, and others are not examined. */
  readonly since?: string | null | undefined;
}

/** Signals a whole process group; false when there is none. Signal 0 only checks for it. */
export function killTree(groupId: number, signal: NodeJS.Signals | 0 = 'SIGKILL'): boolean {
  if (groupId <= 1) return false;
  try {
    process.kill(-groupId, signal);
    return true;
  } catch {
    return false;
  }
}

/** Kills matching processes until none is found, or the timeout expires; `left` are those still alive then. */
export async function sweep(
  targets: SweepTargets,
  timeoutMs = 3_000,
): Promise<{ readonly killed: number; readonly left: number }> {
  const startedAt = performance.now();
  const seen = new Set<number>();
  for (let round = 0; ; round += 1) {
    const { found, hasUnknown } = killAndReport(targets);
    for (const pid of found) seen.add(pid);
    const elapsedMs = performance.now() - startedAt;
    if (found.length === 0 && !(hasUnknown && elapsedMs < EXEC_MS)) return { killed: seen.size, left: 0 };
    if (elapsedMs >= timeoutMs) return { killed: seen.size, left: found.length };
    // Processes that fork faster than they are scanned are ended by one signal to all of the user's processes.
    if (round >= 3 && targets.uid !== undefined) killAllOf(targets.uid);
    await sleep(Math.min(10 * (round + 1), 100));
  }
}

/** One synchronous pass: SIGKILL to all matching processes; returns the pids that were alive. */
export const killMatching = (targets: SweepTargets): readonly number[] => killAndReport(targets).found;

function killAndReport(targets: SweepTargets): Matching {
  const { uid } = targets;
  if (uid !== undefined && (uid === 0 || uid === process.getuid?.())) {
    throw new RangeError(`Refusing to kill all processes of user ${uid}.`);
  }
  for (const group of targets.groups ?? []) killTree(group);
  const result = matching(targets);
  for (const pid of result.found) signalled(pid, 'SIGKILL');
  return result;
}

export interface PausedProcesses {
  /** Repeated calls change nothing. */
  resume(): void;
}

/** Stops matching processes with SIGSTOP until `resume` is called, at most for `maxMs`. */
export function pauseMatching(targets: SweepTargets, maxMs: number): PausedProcesses {
  const paused = new Set<number>();
  // A process may start others before it is stopped itself.
  for (let hasNew = true; hasNew;) {
    const found = matching(targets).found.filter((pid) => !paused.has(pid) && signalled(pid, 'SIGSTOP'));
    for (const pid of found) paused.add(pid);
    hasNew = found.length > 0;
  }
  const resume = (): void => {
    clearTimeout(timer);
    for (const pid of paused) signalled(pid, 'SIGCONT');
    paused.clear();
  };
  const timer = setTimeout(resume, maxMs);
  return { resume };
}

interface Matching {
  readonly found: readonly number[];
  /** Whether another process may match as soon as its program has started. */
  readonly hasUnknown: boolean;
}

function matching(targets: SweepTargets): Matching {
  const found: number[] = [];
  let hasUnknown = false;
  for (const candidate of scanProcesses(Number(targets.since ?? 0) || 0)) {
    const isMatch = matches(candidate, targets);
    if (isMatch) found.push(candidate.pid);
    else if (isMatch === undefined) hasUnknown = true;
  }
  return { found, hasUnknown };
}

/** False: it has ended. */
function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

function matches(
  { pid, parentPid, groupId }: ReturnType<typeof scanProcesses>[number],
  { groups, marker, uid, directory }: SweepTargets,
): boolean | undefined {
  if (groups?.includes(groupId)) return true;
  const isMarked = marker === undefined ? false : hasMarker(pid, marker);
  if (isMarked) return true;
  if (uid !== undefined && runsAs(pid, uid)) return true;
  if (directory !== undefined && parentPid === 1 && worksIn(pid, directory)) return true;
  return isMarked;
}

function killAllOf(uid: number): void {
  if (process.getuid?.() !== 0) return;
  spawnSync('/bin/sh', ['-c', 'kill -KILL -1'], { uid, env: {}, stdio: 'ignore', timeout: 1_000 });
}
