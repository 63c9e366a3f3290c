const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/**
 * How long a worker that has refused a task is offered nothing: a second, twice as long each time, half a minute at
 * most, until it has completed one. Times are milliseconds of a clock that only goes forward.
 */
export class RejectionPause {
  private nextMs = FIRST_MS;
  private until = -Infinity;

  /** Begins a pause and returns its length; 0 while one is under way, as the same rejection may come twice. */
  begin(now: number): number {
    if (now < this.until) return 0;
    const length = this.nextMs;
    this.until = now + length;
    this.nextMs = Math.min(length * 2, LONGEST_MS);
    return length;
  }

  /** Whether a pause was ended. */
  end(now: number): boolean {
    const paused = now < this.until;
    this.until = -Infinity;
    this.nextMs = FIRST_MS;
    return paused;
  }

  /** Milliseconds that are left of it, or 0. */
  left(now: number): number {
    return Math.max(0, this.until - now);
  }
}
