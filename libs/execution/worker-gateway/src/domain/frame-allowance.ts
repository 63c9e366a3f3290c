/** Frames that a connection may send at once, and how many a second it gets back. A busy worker sends a few a second. */
const BURST = 500;
const PER_SECOND = 50;

/** Token bucket. Times are milliseconds of a clock that only goes forward. */
export class FrameAllowance {
  private left = BURST;

  constructor(private countedAt: number) {}

  /** False: it sends more than any worker has reason to. */
  take(now: number): boolean {
    this.left = Math.min(BURST, this.left + ((now - this.countedAt) / 1000) * PER_SECOND);
    this.countedAt = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}
