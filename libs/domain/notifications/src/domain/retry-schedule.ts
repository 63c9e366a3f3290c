const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waiting times after the first, second, … failed attempt: a bit more than two days in all. */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 24 * HOUR] as const;
/** Up to this part of a wait comes on top, so that what failed together does not come back together. */
const JITTER = 0.2;
const LONGEST_ASKED_MS = 24 * HOUR;

export const MAX_ATTEMPTS = WAITS.length + 1;

/** A webhook is disabled after at least this many failures in a row, over the time that a setting says. */
export const FAILURES_TO_DISABLE = 10;

/**
 * Milliseconds until the attempt after `attempt` (from 1 on), or null when that was the last. `asked`: what the
 * receiver wants to be waited, which can only make it longer. `random` is in [0, 1).
 */
export function waitAfter(attempt: number, random: number, asked = 0): number | null {
  const wait = WAITS[attempt - 1];
  if (wait === undefined) return null;
  return Math.max(Math.round(wait * (1 + JITTER * random)), Math.min(asked, LONGEST_ASKED_MS));
}
