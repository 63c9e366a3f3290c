import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** Identifies one process as long as the machine exists: process numbers are reused, and all of them after a boot. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
  readonly boot: string;
}

/** Null: there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const started = processStart(pid);
  return started === null ? null : { pid, started, boot: bootId() };
}

export const isSameProcess = ({ pid, started, boot }: ProcessIdentity): boolean =>
  boot === bootId() && processStart(pid) === started;

/** False also when that cannot be read now, for example without a free file descriptor. */
export function hasEnded({ pid, started, boot }: ProcessIdentity): boolean {
  const currentBoot = bootId();
  if (boot !== '' && currentBoot !== boot) return currentBoot !== '';
  const current = readStart(pid);
  return current !== undefined && current !== started;
}

/**
 * When a process started, as text that no later process with the same number repeats; null when it has ended. A zombie
 * counts as ended: under a slow init it still answers `kill(pid, 0)`, although it does nothing any more.
 */
export const processStart = (pid: number): string | null => readStart(pid) ?? null;

/** Undefined: it cannot be read now. */
function readStart(pid: number): string | null | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

export const isAlive = (pid: number): boolean => processStart(pid) !== null;

/** The arguments of a process, the program first; empty when it has ended or may not be read. */
export function processArguments(pid: number): string[] {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(' ');
  } catch {
    return [];
  }
}

let boot: string | undefined;

/** Identifies the boot of the machine; empty where there is no /proc. */
export function bootId(): string {
  try {
    return (boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());
  } catch {
    return '';
  }
}

/** Identifies the boot and the process namespace in which process numbers are valid; empty where there is no /proc. */
export function processNamespace(): string {
  try {
    return `${bootId()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return '';
  }
}

function startFromProc(pid: number): string | null | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name is in parentheses and may contain any character; the fields after it are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19]];
    return state === undefined || started === undefined || 'ZX'.includes(state) ? null : started;
  } catch (error) {
    return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '') ? null : undefined;
  }
}

function startFromPs(pid: number): string | null | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
    }).trim();
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
  } catch (error) {
    // `ps` itself has a status when it finds no such process.
    return typeof (error as { status?: unknown }).status === 'number' ? null : undefined;
  }
}
