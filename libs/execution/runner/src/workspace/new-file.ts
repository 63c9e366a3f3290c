import { rm, writeFile } from 'node:fs/promises';

/** Writes a file that must not exist yet. What a failure has left of it is removed, so that a second attempt can succeed. */
export async function writeNewFile(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(path, { force: true });
    throw error;
  }
}
