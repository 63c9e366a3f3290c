import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;

/** Polls what has no signal to wait for. Rejects after the time, 10 s by default. */
export async function until<T>(
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  timeoutMs = 10_000,
  what = 'it',
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms.`);
    await sleep(POLL_MS);
  }
}
