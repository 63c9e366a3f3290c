import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from './process-identity.js';

export interface LockHolder {
  readonly pid: number;
  readonly started: string;
}

/** Thrown when somebody alive holds the lock for longer than the caller wants to wait. */
export class LockHeldError extends Error {
  constructor(
    readonly path: string,
    readonly pid: number,
  ) {
    super(`${path} is held by process ${pid}.`);
    this.name = 'LockHeldError';
  }
}

/** A lock whose file was made but not yet filled: its maker has this long before it counts as dead. */
const FILLING_MS = 5_000;

export const self = (): LockHolder => ({ pid: process.pid, started: processStart(process.pid) ?? '' });

export function holderIsAlive(holder: LockHolder): boolean {
  return processStart(holder.pid) === holder.started;
}

export function readHolder(path: string): LockHolder | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockHolder;
  } catch {
    return null;
  }
}

/**
 * A lock between processes: a file that names its holder. Node has no flock; a holder that died, by `kill -9` or with
 * the machine, is recognised by process number and start time, and its lock is taken over.
 */
export class PidLock {
  private constructor(private readonly path: string) {}

  /** Waits up to `waitMs` for a living holder, then throws {@link LockHeldError}. */
  static async acquire(path: string, waitMs: number): Promise<PidLock> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      if (tryCreate(path)) return new PidLock(path);
      const holder = readHolder(path);
      if (isStale(path, holder)) {
        removeStale(path);
        continue;
      }
      if (performance.now() >= deadline) throw new LockHeldError(path, holder?.pid ?? 0);
      await delay(20);
    }
  }

  release(): void {
    rmSync(this.path, { force: true });
  }
}

function tryCreate(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(self()), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function isStale(path: string, holder: LockHolder | null): boolean {
  if (holder) return !holderIsAlive(holder);
  return ageMs(path) > FILLING_MS;
}

function ageMs(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Date.now() - stats.mtimeMs : 0;
}

/** Only one process at a time removes a dead holder's file, and looks again first: else two could both end up holding it. */
function removeStale(path: string): void {
  const breaking = `${path}.breaking`;
  try {
    mkdirSync(breaking);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (ageMs(breaking) > FILLING_MS) rmSync(breaking, { recursive: true, force: true });
    return;
  }
  try {
    if (isStale(path, readHolder(path))) rmSync(path, { force: true });
  } finally {
    rmdirSync(breaking);
  }
}
