import { performance } from 'node:perf_hooks';

/** No sender waits longer for a rejection: they time out, and proxies in front of us have connections to lose. */
const MAX_WAIT_MS = 2000;

/** How long to hold back answers to rejected requests, so that no more than `perSecond` are answered within a second. */
export class RejectionPace {
  private readonly perMs: number;
  private backlog = 0;
  private since: number;

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.perMs = perSecond / 1000;
    this.since = now();
  }

  /** Counts a rejection. Returns the milliseconds to wait before it is answered, from 0 to 2,000. */
  next(): number {
    const now = this.now();
    this.backlog = this.left(now) + 1;
    this.since = now;
    // As many as fit into a second are answered at once.
    const waitMs = (this.backlog - this.perSecond) / this.perMs;
    if (waitMs <= 0) return 0;
    // What cannot be worked off within the longest wait is not remembered: the rate then follows the number of connections.
    this.backlog = Math.min(this.backlog, this.perSecond + MAX_WAIT_MS * this.perMs);
    return Math.min(waitMs, MAX_WAIT_MS);
  }

  /** Whether nothing of it would hold back the next rejection any longer than a new one would. */
  get isIdle(): boolean {
    return this.left(this.now()) === 0;
  }

  private left(now: number): number {
    return Math.max(0, this.backlog - (now - this.since) * this.perMs);
  }
}
