import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { processNamespace, processStart } from '#platform/kernel';
import { GitFailure } from './git-failure.js';

interface Owner {
  readonly token: string;
  readonly pid: number;
  /** When the process started: process numbers are reused. */
  readonly started: string;
  /** Process numbers are unique in one boot and one namespace only. */
  readonly realm: string;
}

const HEARTBEAT_MS = 5_000;
/** An owner in another namespace is dead when it has not touched its lock for this long. */
const SILENT_MS = 60_000;
const WAIT_MS = 100;

/**
 * Does the work while holding a lock that other processes see: a file. The lock of a dead process is taken over.
 * Rejects with GitFailure `aborted` when the signal aborts while waiting.
 */
export async function withFileLock<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const owner: Owner = {
    token: randomUUID(),
    pid: process.pid,
    started: processStart(process.pid) ?? '',
    realm: processNamespace(),
  };
  while (!(await acquire(path, owner))) {
    if (signal.aborted) throw new GitFailure('aborted', 'git was stopped.');
    await removeDeadLock(path);
    // An abort is reported by the next iteration.
    await delay(WAIT_MS, undefined, { signal }).catch(() => undefined);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if ((await readOwner(path))?.token === owner.token) await rm(path, { force: true });
  }
}

/** A link appears together with its content, so that nobody reads a partial owner. */
async function acquire(path: string, owner: Owner): Promise<boolean> {
  const own = `${path}.${owner.token}`;
  try {
    await writeFile(own, JSON.stringify(owner), { mode: 0o600, flag: 'wx' });
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

/** Two processes may see the same dead owner: one that has moved the lock of a new owner aside puts it back. */
async function removeDeadLock(path: string): Promise<void> {
  const owner = await readOwner(path);
  if (!(await isDead(path, owner))) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch {
    return; // released meanwhile
  }
  if ((await readOwner(aside))?.token !== owner?.token) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

async function isDead(path: string, owner: Owner | null): Promise<boolean> {
  const realm = processNamespace();
  // Without a realm, or in another one, an owner counts as dead when it has been silent for too long.
  if (owner !== null && owner.realm === realm && realm !== '') return processStart(owner.pid) !== owner.started;
  const stats = await stat(path).catch(() => null);
  return stats !== null && Date.now() - stats.mtimeMs > SILENT_MS;
}

/** null: there is none, or it cannot be read. */
async function readOwner(path: string): Promise<Owner | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Owner;
  } catch {
    return null;
  }
}
