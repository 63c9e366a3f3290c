/** How long a process may write an answer without another one doing it too; after a crash nothing is written for this time. */
export const LEASE_MS = 30_000;
/** Less than the lease, so that no other process writes at the same time. */
export const ATTEMPT_MS = 20_000;
/** Between two edits: the newest state is written, and not each one. */
export const PAUSE_MS = 3_000;
/** The clock of the forge may differ from that of the database. */
export const CLOCK_TOLERANCE_MS = 3_600_000;
/** For a limit that has ended by this clock. */
const CLOCK_DIFFERENCE_MS = 60_000;

/** Milliseconds until the next attempt after a rate limit. */
export function limitPause(until: Date, now: Date): number {
  const waitMs = until.getTime() - now.getTime();
  return waitMs > 0 ? Math.max(PAUSE_MS, waitMs) : CLOCK_DIFFERENCE_MS;
}
