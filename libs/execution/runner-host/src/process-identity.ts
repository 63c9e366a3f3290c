import { readFileSync } from 'node:fs';

/** Names one process for as long as the machine has it: process numbers come again, also after a boot. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Empty where there is no /proc: then the number alone has to do. */
  readonly started: string;
  readonly boot: string;
}

/** Null: there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const started = startOf(pid);
  if (started === null) return null;
  return { pid, started, boot: bootId() };
}

/** Whether that very process still lives. */
export function isSameProcess({ pid, started, boot }: ProcessIdentity): boolean {
  return boot === bootId() && startOf(pid) === started;
}

function startOf(pid: number): string | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; the fields start behind the last one.
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
