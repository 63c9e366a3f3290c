/** The only source of wall-clock time; an abstract class so that it doubles as the dependency-injection token. */
export abstract class Clock {
  abstract now(): Date;
}

export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `250ms`, `90s`, `10m` or `10min`, `24h`, `7d` in milliseconds; null for any other text. */
export function parseDuration(value: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d)$/.exec(value);
  return match ? Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]) : null;
}

const LATE = Symbol('late');

/** What `work` resolves with, or `late()` when it takes longer than `timeoutMs`. `work` then continues, and its result is ignored. */
export async function within<T, L = T>(timeoutMs: number, work: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), timeoutMs);
  });
  // A rejection after the timeout must not be an unhandled one.
  work.catch(() => undefined);
  try {
    const result = await Promise.race([work, timeout]);
    return result === LATE ? late() : result;
  } finally {
    clearTimeout(timer);
  }
}
