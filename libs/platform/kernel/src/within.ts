const LATE = Symbol('late');

/** What `work` resolves with, or `late()` when it takes longer than `timeoutMs`; it is left to itself then. */
export async function within<T, L = T>(timeoutMs: number, work: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), timeoutMs);
  });
  // What it does after its time is nobody's concern.
  work.catch(() => undefined);
  try {
    const result = await Promise.race([work, timeout]);
    return result === LATE ? late() : result;
  } finally {
    clearTimeout(timer);
  }
}
