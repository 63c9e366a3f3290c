import { performance } from 'node:perf_hooks';

/** Longer waits would exceed timeouts of senders and occupy connections of proxies. */
const MAX_WAIT_MS = 2000;

/** Calculates how long to delay responses to rejected requests, so that at most `perSecond` are answered per second. */
export class RejectionDelay {
  private readonly perMs: number;
  private backlog = 0;
  private since: number;

  /** `now`: milliseconds of a monotonic clock. */
  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.perMs = perSecond / 1000;
    this.since = now();
  }

  /** Counts a rejection. Returns the milliseconds to wait before the response, between 0 and 2,000. */
  next(): number {
    const now = this.now();
    this.backlog = this.left(now) + 1;
    this.since = now;
    // The first `perSecond` rejections are answered at once.
    const waitMs = (this.backlog - this.perSecond) / this.perMs;
    if (waitMs <= 0) return 0;
    // More than fits into the longest wait is not counted: the number of connections then limits the rate.
    this.backlog = Math.min(this.backlog, this.perSecond + MAX_WAIT_MS * this.perMs);
    return Math.min(waitMs, MAX_WAIT_MS);
  }

  /** Whether a new instance would calculate the same delay for the next rejection. */
  get isIdle(): boolean {
    return this.left(this.now()) === 0;
  }

  private left(now: number): number {
    return Math.max(0, this.backlog - (now - this.since) * this.perMs);
  }
}
