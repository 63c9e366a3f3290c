import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * With those above it, for the owner only; one that exists is left as it is. `recursive` of Node reports ENOENT for a
 * file system that is full or read-only.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || path === dirname(path)) throw error;
    await makeDirectory(dirname(path));
    await makeDirectory(path);
  }
}
