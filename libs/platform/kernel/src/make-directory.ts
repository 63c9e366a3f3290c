import { mkdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory with those above it, for the owner only (0700); one that exists is left as it is. Returns whether it was
 * made. `recursive` of Node reports ENOENT for a file system that is full or read-only, and does not return in /proc.
 */
export async function makeDirectory(path: string): Promise<boolean> {
  try {
    return await makeOne(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    await makeDirectory(dirname(path));
    return makeOne(path);
  }
}

async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The same, for a process that waits for nothing else: it needs a tenth of the processor time. */
export function makeDirectorySync(path: string): boolean {
  try {
    return makeOneSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error;
    makeDirectorySync(dirname(path));
    return makeOneSync(path);
  }
}

function makeOneSync(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
