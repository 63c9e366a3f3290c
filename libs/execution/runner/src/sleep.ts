/** Resolves after `ms`, or at once when the signal aborts; never rejects. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal?.addEventListener('abort', wake);
  });
}

/** Whether the promise settled (either way) before `ms` passed or the signal aborted. */
export async function settlesWithin(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) over.abort();
  const settled = promise.then(
    () => true,
    () => true,
  );
  const result = await Promise.race([settled, sleep(ms, over.signal).then(() => false)]);
  signal?.removeEventListener('abort', stop);
  over.abort();
  return result;
}

/** Grows from `firstMs` to `maxMs`, doubling, each with up to a quarter of jitter. */
export function backoffMs(attempt: number, firstMs: number, maxMs: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20));
  return base * (0.75 + Math.random() * 0.5);
}
