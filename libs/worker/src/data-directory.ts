import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '#libs/git';
import type { HostLog } from '#libs/runner-host';
import { WorkerFault } from './backend.js';

/** A lock whose owner died in another container is given up after a minute of silence. */
const LOCK_MS = 70_000;
const TOLD_AFTER_MS = 1_000;

/** Makes the directory; as root others may pass through it, because agents with users of their own work below it. Returns its real path. */
export function openDataDirectory(path: string): string {
  try {
    const isNew = mkdirSync(path, { recursive: true }) !== undefined;
    if (isNew || readdirSync(path).length === 0) chmodSync(path, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpathSync(path);
  } catch (error) {
    throw new WorkerFault(`The data directory ${path} cannot be used (${codeOf(error)}): set --data-dir.`);
  }
}

/** A random key of this directory, made once. */
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

/** Does the work as the only daemon of this directory: two would each look after the executions of the other. */
export async function alone<T>(dataDir: string, log: HostLog, work: () => Promise<T>): Promise<T> {
  const waiting = setTimeout(() => log.warn('the data directory is in use; waiting for it'), TOLD_AFTER_MS);
  let isOurs = false;
  try {
    return await withFileLock(join(dataDir, 'lock'), AbortSignal.timeout(LOCK_MS), () => {
      isOurs = true;
      clearTimeout(waiting);
      return work();
    });
  } catch (error) {
    if (isOurs) throw error;
    throw new WorkerFault(`Another worker uses the data directory ${dataDir}: give each one its own with --data-dir.`);
  } finally {
    clearTimeout(waiting);
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown';
