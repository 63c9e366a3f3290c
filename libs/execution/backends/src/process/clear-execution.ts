import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree, sweep, type SweepTargets } from '#execution/runner';
import type { HostLog } from '#execution/runner';

export interface ExecutionRemains extends Pick<SweepTargets, 'marker' | 'uid' | 'groups' | 'since'> {
  readonly executionId: string;
  readonly workspaceDir: string;
  /** Milliseconds since 1970 of the start; undefined: not known. */
  readonly startedAt?: number | undefined;
  /** Its runner has ended all processes already, and has reported the end. */
  readonly isSwept?: boolean;
}

/** Ends the processes of an execution and removes its directory. Rejects when the directory cannot be removed. */
export async function clearExecution(
  { executionId, workspaceDir, startedAt, isSwept = false, ...targets }: ExecutionRemains,
  log: Pick<HostLog, 'error' | 'warn'>,
): Promise<void> {
  const { uid } = targets;
  const { left } = isSwept ? { left: 0 } : await sweep({ ...targets, directory: workspaceDir });
  if (left > 0) log.error(`${left} process(es) of execution ${executionId} survived SIGKILL.`);
  await removeTree(workspaceDir);
  // As root only: otherwise the execution has no separate user.
  if (uid === undefined || uid === 0 || process.getuid?.() !== 0) return;
  const files = await removeLeftoverFiles(uid, startedAt);
  if (files > 0)
    log.warn(`${files} file(s) of execution ${executionId} in shared temporary directories cannot be removed.`);
}

const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
const BATCH_SIZE = 500;

/** The kernel sets times of files a few milliseconds late. */
const TIME_MARGIN_MS = 1000;

/**
 * Removes the files of an execution's user from the shared directories of the machine, as that user: its directories may
 * be writable to others, who could add links to other files during the removal. Directories without a change since
 * `startedAt` have none. Returns how many entries remain.
 */
export async function removeLeftoverFiles(
  uid: number,
  startedAt = 0,
  directories = [...new Set([...SHARED, tmpdir()])],
): Promise<number> {
  const left = await entriesOf(
    uid,
    directories.filter((directory) => changedAt(directory) >= startedAt - TIME_MARGIN_MS),
  );
  for (let at = 0; at < left.length; at += BATCH_SIZE) await removeAs(uid, left.slice(at, at + BATCH_SIZE));
  return left.length === 0 ? 0 : (await entriesOf(uid, directories)).length;
}

const changedAt = (directory: string): number => statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0;

async function entriesOf(uid: number, directories: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const directory of directories) {
    const names = await readdir(directory).catch(() => []);
    for (const name of names) {
      const path = join(directory, name);
      const stats = await lstat(path).catch(() => null);
      if (stats?.uid === uid) found.push(path);
    }
  }
  return found;
}

async function removeAs(uid: number, paths: readonly string[]): Promise<void> {
  const env = { PATH: '/usr/bin:/bin' };
  await once(spawn('rm', ['-rf', '--', ...paths], { cwd: '/', env, stdio: 'ignore', uid, gid: uid }), 'close');
}
