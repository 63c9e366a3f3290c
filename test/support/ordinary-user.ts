import { spawnSync } from 'node:child_process';
import { type Account, MAIN } from './installation.js';

/** A user without special rights that root starts the build as; null: there is none, or the tests do not run as root. */
export const ORDINARY_USER: Account | null = process.getuid?.() === 0 ? findNobody() : null;

function findNobody(): Account | null {
  const [uid, gid] = ['-u', '-g'].map((part) => Number(spawnSync('id', [part, 'nobody'], { encoding: 'utf8' }).stdout));
  if (!uid || !gid) return null;
  // The checkout may be in a directory that others cannot read.
  const { status } = spawnSync(process.execPath, [MAIN, '--version'], { uid, gid, cwd: '/' });
  return status === 0 ? { uid, gid } : null;
}
