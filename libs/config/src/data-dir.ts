import { chmodSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the data directory. As root others may pass through it (0711), because PostgreSQL and agents have users of
 * their own and their directories lie in it; else it is its owner's alone (0700). A directory that is there and not
 * empty keeps its mode: it may be more than ours. Returns its real path.
 */
export function ensureDataDir(dataDir: string): string {
  const isNew = mkdirSync(dataDir, { recursive: true }) !== undefined;
  if (isNew || readdirSync(dataDir).length === 0) chmodSync(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  return realpathSync(dataDir);
}

/** Makes a directory in the data directory that only its owner may enter. Returns its path. */
export function ensurePrivateDir(dataDir: string, name: string): string {
  const directory = join(dataDir, name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}
