/** Frames that a connection may send at once, and per second over time. A busy worker sends a few per second. */
const BURST = 500;
const PER_SECOND = 50;

/** A token bucket. Times are milliseconds of a monotonic clock. */
export class FrameAllowance {
  private left = BURST;

  constructor(private countedAt: number) {}

  /** False when the bucket is empty. */
  take(now: number): boolean {
    this.left = Math.min(BURST, this.left + ((now - this.countedAt) / 1000) * PER_SECOND);
    this.countedAt = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
