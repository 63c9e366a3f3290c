import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { SettingsError } from './parse-settings.js';

/**
 * Creates the data directory and returns its real path. As root, other users may traverse it (0711), because PostgreSQL and
 * agents run as other users and have their directories in it; otherwise only its owner may access it (0700). An existing
 * directory that is not empty keeps its mode, because other programs may use it too. Throws a SettingsError.
 */
export function ensureDataDir(dataDir: string): string {
  try {
    createDirectory(dataDir);
    if (readdirSync(dataDir).length === 0) chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
    return realpathSync(dataDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new SettingsError([`HEADRACE_DATA_DIR: ${dataDir} cannot be used as a directory (${code})`]);
  }
}

/**
 * Creates a directory and those that contain it. `recursive` of Node never returns on a file system that rejects new directories with
 * ENOENT, such as /proc.
 */
export function createDirectory(path: string): void {
  try {
    unlessExisting(() => mkdirSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    createDirectory(dirname(path));
    unlessExisting(() => mkdirSync(path));
  }
}

function unlessExisting(create: () => void): void {
  try {
    create();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Creates a directory in the data directory that only its owner may access. Returns its path. */
export function ensurePrivateDir(dataDir: string, name: string): string {
  const directory = join(dataDir, name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}

/** Replaces a file atomically, readable by its owner only: a crash leaves either the old or the new content. */
export function writePrivateFile(path: string, content: string): void {
  withTemporaryFile(path, content, (temporary) => renameSync(temporary, path));
}

export function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A secret in a file, generated when the file does not exist. If several processes generate it concurrently, all use that of the first. */
export function persistedSecret(path: string): string {
  const existing = readIfPresent(path)?.trim();
  if (existing) return existing;
  withTemporaryFile(path, `${randomBytes(32).toString('base64url')}\n`, (temporary) =>
    unlessExisting(() => linkSync(temporary, path)),
  );
  return readFileSync(path, 'utf8').trim();
}

function withTemporaryFile(path: string, content: string, publish: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode: 0o600, flush: true });
    publish(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}
