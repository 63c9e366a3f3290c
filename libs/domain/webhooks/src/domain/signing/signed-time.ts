/** How a sender writes the time of signing. */
export type TimeUnit = 's' | 'ms' | 'rfc3339';

/** What the contract lets a signature differ from our clock, to both sides, unless the scheme says less. */
export const DEFAULT_TOLERANCE_SECONDS = 300;

const DIGITS = /^\d{1,15}$/;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Whether a time as sent is one and is at most so far from now, behind or ahead; the bound itself is within. Whole
 * seconds are compared as whole seconds, so that a sender is not refused for the fraction that it could not write.
 */
export function isTimely(text: string, unit: TimeUnit, now: Date, toleranceSeconds: number): boolean {
  const nowMs = now.getTime();
  switch (unit) {
    case 's':
      return DIGITS.test(text) && Math.abs(Math.floor(nowMs / 1000) - Number(text)) <= toleranceSeconds;
    case 'ms':
      return DIGITS.test(text) && Math.abs(nowMs - Number(text)) <= toleranceSeconds * 1000;
    case 'rfc3339':
      // An impossible date is NaN, which is not within anything.
      return RFC3339.test(text) && Math.abs(nowMs - Date.parse(text)) <= toleranceSeconds * 1000;
  }
}

export function writeTime(now: Date, unit: TimeUnit): string {
  switch (unit) {
    case 's':
      return String(Math.floor(now.getTime() / 1000));
    case 'ms':
      return String(now.getTime());
    case 'rfc3339':
      return now.toISOString();
  }
}
