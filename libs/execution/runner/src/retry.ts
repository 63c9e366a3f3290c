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
export function settlesWithin(promise: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', late);
      resolve(isSettled);
    };
    const late = (): void => end(false);
    const settled = (): void => end(true);
    const timer = setTimeout(late, ms);
    promise.then(settled, settled);
    onAbort(signal, late);
  });
}

/** Grows from `firstMs` to `maxMs`, doubling, each with up to a quarter of jitter. */
function backoffMs(attempt: number, firstMs: number, maxMs: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20));
  return base * (0.75 + Math.random() * 0.5);
}

export interface RetryOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly again: (error: unknown, attempt: number) => boolean;
}

/** Repeats a call until it succeeds, with growing pauses. Rejects with the first error that is not to be repeated. */
export async function retry<T>(
  call: () => T | Promise<T>,
  { firstMs, maxMs, signal, again }: RetryOptions,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!again(error, attempt)) throw error;
      await sleep(backoffMs(attempt, firstMs, maxMs), signal);
      if (signal?.aborted) throw error;
    }
  }
}

export function onAbort(signal: AbortSignal | undefined, then: () => void): void {
  if (signal?.aborted) then();
  else signal?.addEventListener('abort', then, { once: true });
}
