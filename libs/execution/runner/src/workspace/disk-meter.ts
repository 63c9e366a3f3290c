import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../retry.js';

const FIRST_MS = 500;
const MIN_PAUSE_MS = 1_000;
/** Upper bound of the pause: after a longer one a workspace could be far over its limit. */
const MAX_PAUSE_MS = 10_000;
/** Measuring takes about one hundredth of the time, until MAX_PAUSE_MS. */
const PAUSE_PER_MEASURE = 99;

/** Bytes that a directory occupies on disk. Symbolic links are not followed; files that are deleted meanwhile do not count. */
export async function occupiedBytes(directory: string, signal: AbortSignal): Promise<number> {
  let total = 0;
  for (const stack = [directory]; !signal.aborted;) {
    const current = stack.pop();
    if (current === undefined) break;
    for (const entry of await entriesOf(current)) {
      const path = join(current, entry.name);
      if (entry.isDirectory()) stack.push(path);
      total += await bytesOf(path);
    }
  }
  return total;
}

/** Resolves to the measured bytes once they exceed the limit; never resolves after the signal aborts. */
export async function watchDisk(directory: string, maxBytes: number, signal: AbortSignal): Promise<number> {
  // Not during the start: a measurement that waits for the processor would count as a long one.
  await sleep(FIRST_MS, signal);
  for (;;) {
    const startedAt = performance.now();
    const bytes = await occupiedBytes(directory, signal);
    if (signal.aborted) return new Promise(() => undefined);
    if (bytes > maxBytes) return bytes;
    await sleep(pauseAfter(performance.now() - startedAt), signal);
  }
}

/** Milliseconds from the end of a measure that took `measureMs` to the next one. */
export const pauseAfter = (measureMs: number): number =>
  Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, measureMs * PAUSE_PER_MEASURE));

async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

async function bytesOf(path: string): Promise<number> {
  try {
    return (await lstat(path)).blocks * 512;
  } catch {
    return 0;
  }
}
