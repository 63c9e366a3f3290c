import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { HostLog } from '#execution/backends';
import { GitFailure, withFileLock } from '#platform/git';
import { WorkerFault } from './worker-fault.js';

/** A lock whose owner died in another container expires after a minute. */
const LOCK_MS = 70_000;
const WARN_AFTER_MS = 1_000;

/**
 * Creates the directory and returns its real path. As root, other users may traverse it, because agents run as other
 * users below it. The mode of a directory that another user owns, such as a volume of Kubernetes, stays as it is: only
 * its owner can change it.
 */
export function openDataDirectory(path: string): string {
  return withinDataDirectory(path, () => {
    const isNew = mkdirSync(path, { recursive: true }) !== undefined;
    const isOwn = statSync(path).uid === process.geteuid?.();
    if (isNew || (isOwn && readdirSync(path).length === 0)) chmodSync(path, process.geteuid?.() === 0 ? 0o711 : 0o700);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return realpathSync(path);
  });
}

/** Translates errors of the file system, such as a full disk, to a WorkerFault. */
export function withinDataDirectory<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw unusable(path, error);
  }
}

export function installationKey(dataDir: string): string {
  const file = join(dataDir, 'installation-key');
  const own = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(own, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' });
    linkSync(own, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readFileSync(file, 'utf8').trim();
}

/** Two daemons would supervise the same executions. Rejects with a WorkerFault when the lock is not available. */
export async function withDirectoryLock<T>(
  dataDir: string,
  log: HostLog,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const waiting = setTimeout(() => log.warn('the data directory is in use; waiting for it'), WARN_AFTER_MS);
  let isOurs = false;
  try {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(LOCK_MS)]);
    return await withFileLock(join(dataDir, 'lock'), deadline, () => {
      isOurs = true;
      clearTimeout(waiting);
      return work();
    });
  } catch (error) {
    if (isOurs) throw error;
    if (!(error instanceof GitFailure)) throw unusable(dataDir, error);
    if (signal.aborted)
      throw new WorkerFault(`The worker was stopped while it waited for the data directory ${dataDir}.`);
    throw new WorkerFault(
      `Another worker uses the data directory ${dataDir}: set a separate directory for each with --data-dir.`,
    );
  } finally {
    clearTimeout(waiting);
  }
}

const unusable = (path: string, error: unknown): WorkerFault =>
  new WorkerFault(`The data directory ${path} cannot be used (${codeOf(error)}): set --data-dir, or free disk space.`);

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown';
