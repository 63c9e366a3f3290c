const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * How many runs a worker takes at once, learnt from what it rejects: as many as it executed at its last rejection. More than
 * that is tried one at a time, after a pause of a second that doubles with each rejection, up to half a minute. Times are
 * milliseconds of a monotonic clock.
 */
export class LearntCapacity {
  /** Null: it has rejected nothing yet. */
  slots: number | null = null;
  private nextPauseMs = FIRST_PAUSE_MS;
  private pausedUntil = -Infinity;

  /** Returns the length of the pause that begins; 0 while one is under way, as rejections of several offers may follow each other. */
  rejected(executing: number, now: number): number {
    this.slots = executing;
    if (now < this.pausedUntil) return 0;
    const length = this.nextPauseMs;
    this.pausedUntil = now + length;
    this.nextPauseMs = Math.min(length * 2, LONGEST_PAUSE_MS);
    return length;
  }

  /** Returns whether it executes more than was known to be possible. */
  claimed(executing: number): boolean {
    if (this.slots === null || executing <= this.slots) return false;
    this.slots = executing;
    this.pausedUntil = -Infinity;
    this.nextPauseMs = FIRST_PAUSE_MS;
    return true;
  }

  /** A run has ended, so there is a slot for another one. Returns whether that was not known. */
  ended(executing: number): boolean {
    if (this.slots === null || executing < this.slots) return false;
    this.slots = executing + 1;
    return true;
  }

  /** Milliseconds until more is tried, or 0. */
  pausedMs(now: number): number {
    return Math.max(0, this.pausedUntil - now);
  }
}
