const FIRST_MS = 10_000;
const MAX_MS = 3_600_000;
/** About a day in total. */
export const MAX_ATTEMPTS = 28;

/** Milliseconds until the attempt after `attempt` (from 1). `random` is in [0, 1). */
export const delayAfter = (attempt: number, random: number): number =>
  Math.round(Math.min(FIRST_MS * 3 ** (attempt - 1), MAX_MS) * (1 + random / 5));
