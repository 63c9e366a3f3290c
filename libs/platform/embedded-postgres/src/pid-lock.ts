import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '#platform/kernel';

export interface LockHolder {
  readonly pid: number;
  readonly started: string;
}

/** A living process holds the lock for longer than the caller wants to wait. */
export class LockHeldError extends Error {
  constructor(
    readonly path: string,
    readonly pid: number,
  ) {
    super(`${path} is held by process ${pid}.`);
    this.name = 'LockHeldError';
  }
}

/** How long the file of a lock may be empty: its creator writes it after it has created it. */
const WRITE_TIMEOUT_MS = 5_000;

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

  static async during<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
    const lock = await PidLock.acquire(path, waitMs);
    try {
      return await work();
    } finally {
      lock.release();
    }
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
  return holder ? !holderIsAlive(holder) : ageMs(path) > WRITE_TIMEOUT_MS;
}

function ageMs(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats ? Date.now() - stats.mtimeMs : 0;
}

/** Only one process at a time removes the file of a dead holder, and checks it again first: otherwise two could hold the lock. */
function removeStale(path: string): void {
  const breaking = `${path}.breaking`;
  try {
    mkdirSync(breaking);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (ageMs(breaking) > WRITE_TIMEOUT_MS) rmSync(breaking, { recursive: true, force: true });
    return;
  }
  try {
    if (isStale(path, readHolder(path))) rmSync(path, { force: true });
  } finally {
    rmdirSync(breaking);
  }
}

let counter = 0;

/**
 * The processes that use one embedded server. Any of them may have started it; the last one that leaves stops it. A process
 * that died without leaving does not count. Called under the start lock.
 */
export class ServerUsers {
  private readonly own = `${process.pid}-${++counter}`;

  constructor(private readonly directory: string) {}

  join(): void {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.directory, this.own), JSON.stringify(self()), { mode: 0o600 });
  }

  leave(): void {
    rmSync(join(this.directory, this.own), { force: true });
  }

  hasAny(): boolean {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    return readdirSync(this.directory).some((name) => {
      const holder = readHolder(join(this.directory, name));
      if (holder && holderIsAlive(holder)) return true;
      rmSync(join(this.directory, name), { force: true });
      return false;
    });
  }
}
