import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GitFailure } from './git-failure.js';

const LOOK_MS = 250;

/** Bytes of the files below a directory; what vanishes meanwhile counts nothing. */
export async function directoryBytes(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  let total = 0;
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) total += await directoryBytes(path);
    else total += (await lstat(path).catch(() => null))?.size ?? 0;
  }
  return total;
}

/** Does the work and aborts it when the directory exceeds the limit; then it rejects with `too_large`. */
export async function withinSize<T>(
  directory: string,
  maxBytes: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const tooLarge = new AbortController();
  const failure = new GitFailure(
    'too_large',
    `The repository takes more than ${maxBytes} bytes (GIT_MAX_REPOSITORY_BYTES).`,
  );
  let measuring = false;
  const measure = async (): Promise<void> => {
    if ((await directoryBytes(directory)) > maxBytes) tooLarge.abort();
  };
  const timer = setInterval(() => {
    if (measuring) return;
    measuring = true;
    void measure().finally(() => {
      measuring = false;
    });
  }, LOOK_MS);
  try {
    const result = await work(tooLarge.signal);
    await measure();
    if (tooLarge.signal.aborted) throw failure;
    return result;
  } catch (error) {
    throw tooLarge.signal.aborted ? failure : error;
  } finally {
    clearInterval(timer);
  }
}
