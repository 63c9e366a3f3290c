/** What `work` resolves with, or `late()` when it takes longer; it is left to itself then. */
export async function within<T>(timeoutMs: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), timeoutMs);
  });
  // What it does after its time is nobody's concern.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
