import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Replaces a file as a whole, readable by its owner only; a crash leaves the old or the new one, never half. */
export function writePrivateFile(path: string, content: string): void {
  withUnfinished(path, content, (unfinished) => renameSync(unfinished, path));
}

/** The file's text, or null when there is none. */
export function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** A secret kept in a file: read when it is there, else made once. Of several processes that make it at once, the first one's counts for all. */
export function persistedSecret(path: string): string {
  const existing = readIfPresent(path)?.trim();
  if (existing) return existing;
  withUnfinished(path, `${randomBytes(32).toString('base64url')}\n`, (unfinished) => {
    try {
      linkSync(unfinished, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  });
  return readFileSync(path, 'utf8').trim();
}

function withUnfinished(path: string, content: string, publish: (unfinished: string) => void): void {
  const unfinished = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = openSync(unfinished, 'wx', 0o600);
    try {
      writeSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    publish(unfinished);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
