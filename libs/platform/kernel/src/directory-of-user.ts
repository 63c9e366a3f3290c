import { closeSync, constants, existsSync, fstatSync, openSync } from 'node:fs';

const HAS_PROC = existsSync('/proc/self/fd');

/**
 * Calls `start` with a path of the directory for a process of the user with this uid. A process enters its directory before it
 * changes its user: as root, through a link that the user has made, it would enter directories that are closed to the user.
 * Throws EACCES unless the directory is the user's, or the root, which everybody can enter.
 */
export function inDirectoryOf<T>(uid: number, directory: string, start: (path: string) => T): T {
  if (directory === '/') return start(directory);
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    if (fstatSync(fd).uid !== uid)
      throw Object.assign(new Error(`${directory} is not a directory of the user ${uid}`), { code: 'EACCES' });
    return start(HAS_PROC ? `/proc/self/fd/${fd}` : directory);
  } finally {
    closeSync(fd);
  }
}
