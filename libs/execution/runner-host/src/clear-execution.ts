import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree, sweep, type SweepTargets } from '#execution/runner';
import type { HostLog } from './host-log.js';

/** What an execution may leave behind. */
export interface ExecutionRemains {
  readonly executionId: string;
  readonly cookie: string;
  readonly workspaceDir: string;
  /** Its user, when it had one of its own. */
  readonly uid?: number | undefined;
  /** Process groups that were started for it. */
  readonly groups?: readonly number[];
}

/**
 * Nothing of the execution is left afterwards: no process, no file. Rejects when its directory cannot be removed.
 */
export async function clearExecution(remains: ExecutionRemains, log: HostLog): Promise<void> {
  const { executionId, cookie, workspaceDir, uid, groups } = remains;
  const targets: SweepTargets = {
    cookie,
    directory: workspaceDir,
    ...(uid === undefined ? {} : { uid }),
    ...(groups === undefined ? {} : { groups }),
  };
  const { left } = await sweep(targets);
  if (left > 0) log.error(`${left} process(es) of execution ${executionId} survived SIGKILL.`);
  await removeTree(workspaceDir);
  // As root only: elsewhere an execution has no user that is nobody else's.
  if (uid === undefined || uid === 0 || process.getuid?.() !== 0) return;
  const files = await removeLeftoverFiles(uid);
  if (files > 0)
    log.warn(`${files} file(s) of execution ${executionId} in shared temporary directories cannot be removed.`);
}

/** Where every user may write. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
const BATCH_SIZE = 500;

/**
 * Removes what a user that only one execution has left in the machine's shared directories. By that user: a directory of
 * it may be open to others, who could put a link to something of ours into it while we delete. Returns how many entries
 * are still there.
 */
export async function removeLeftoverFiles(uid: number, directories = [...new Set([...SHARED, tmpdir()])]): Promise<number> {
  const left = await entriesOf(uid, directories);
  for (let at = 0; at < left.length; at += BATCH_SIZE) await removeAs(uid, left.slice(at, at + BATCH_SIZE));
  return left.length === 0 ? 0 : (await entriesOf(uid, directories)).length;
}

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
  const child = spawn('rm', ['-rf', '--', ...paths], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: 'ignore',
    uid,
    gid: uid,
  });
  await once(child, 'close');
}
