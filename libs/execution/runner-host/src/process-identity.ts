import { readFileSync } from 'node:fs';

/** Identifies a process although process numbers are reused, also after a boot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Empty without /proc: then the process number alone is compared. */
  readonly started: string;
  readonly boot: string;
}

/** Null: the process does not exist. */
export function identify(pid: number): ProcessIdentity | null {
  const started = startOf(pid);
  if (started === null) return null;
  return { pid, started, boot: bootId() };
}

/** Whether this process is still running. */
export function isSameProcess({ pid, started, boot }: ProcessIdentity): boolean {
  return boot === bootId() && startOf(pid) === started;
}

function startOf(pid: number): string | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may contain parentheses; the fields start behind the last one.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return bootId() === '' && isAlive(pid) ? '' : null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}
