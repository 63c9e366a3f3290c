const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delays after the first, second, … failed attempt: about two days in total. */
const WAITS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 24 * HOUR] as const;
/** A random part of the delay is added, so that messages that failed together are not retried together. */
const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 24 * HOUR;

export const MAX_ATTEMPTS = WAITS.length + 1;

/** A webhook is disabled after this number of consecutive failures within the time of `NOTIFY_DISABLE_AFTER`. */
export const FAILURES_TO_DISABLE = 10;

/**
 * Milliseconds until the attempt after `attempt` (from 1), or null after the last one. `retryAfterMs`: the delay that the
 * receiver asks for, which can only extend it. `random` is in [0, 1).
 */
export function waitAfter(attempt: number, random: number, retryAfterMs = 0): number | null {
  const wait = WAITS[attempt - 1];
  if (wait === undefined) return null;
  return Math.max(Math.round(wait * (1 + JITTER * random)), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}
