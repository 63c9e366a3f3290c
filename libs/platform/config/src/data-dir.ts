import { chmodSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SettingsError } from './parse-settings.js';

/**
 * Makes the data directory. As root others may pass through it (0711), because PostgreSQL and agents have users of
 * their own and their directories lie in it; else it is its owner's alone (0700). A directory that is there and not
 * empty keeps its mode: it may be more than ours. Returns its real path. Throws a SettingsError.
 */
export function ensureDataDir(dataDir: string): string {
  try {
    makeDirectory(dataDir);
    if (readdirSync(dataDir).length === 0) chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpathSync(dataDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new SettingsError([`HEADRACE_DATA_DIR: ${dataDir} cannot be used as a directory (${code})`]);
  }
}

/** `recursive` of Node does not return where a file system refuses new directories with ENOENT, such as /proc. */
function makeDirectory(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    makeDirectory(dirname(path));
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Makes a directory in the data directory that only its owner may enter. Returns its path. */
export function ensurePrivateDir(dataDir: string, name: string): string {
  const directory = join(dataDir, name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}
