import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where every user may write. */
const SHARED = ['/tmp', '/var/tmp', '/dev/shm'];
const AT_ONCE = 500;

/**
 * Removes what a user that only one execution has left in the machine's shared directories. By that user: a directory of
 * it may be open to others, who could put a link to something of ours into it while we delete. Returns how many entries
 * are still there.
 */
export async function removeLeftFiles(uid: number, directories = [...new Set([...SHARED, tmpdir()])]): Promise<number> {
  const left = await entriesOf(uid, directories);
  for (let at = 0; at < left.length; at += AT_ONCE) await removeAs(uid, left.slice(at, at + AT_ONCE));
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
