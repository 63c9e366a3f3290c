import { setTimeout as sleep } from 'node:timers/promises';

/** Looks take processor time from what is waited for, so the pause between two grows with the time that has passed. */
const PAUSE_MS = { min: 50, max: 250 };
const PAUSE_SHARE = 0.25;

/** Polls what has no signal to wait for. Rejects after the time, 30 s by default. */
export async function until<T>(
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  timeoutMs = 30_000,
  what = 'it',
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    const passed = performance.now() - start;
    if (passed > timeoutMs) throw new Error(`${what} did not happen within ${timeoutMs} ms.`);
    await sleep(Math.min(Math.max(passed * PAUSE_SHARE, PAUSE_MS.min), PAUSE_MS.max));
  }
}
