/** How much of the lease may pass without a sign of the control plane: the runner gives up before the server does. */
const USABLE_SHARE = 8 / 9;

/**
 * The runner's side of the lease, on the monotonic clock. What counts is when a successful request was *sent*:
 * the server may have renewed the lease at any moment after that, never before.
 */
export class Lease {
  private ttlMs = 0;
  private lastOk = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly onExpired: () => void) {}

  /** @param sentAt `performance.now()` from just before the request went out. */
  start(ttlSeconds: number, sentAt: number): void {
    this.ttlMs = ttlSeconds * 1000;
    this.lastOk = sentAt;
    this.arm();
  }

  renewed(sentAt: number): void {
    this.lastOk = Math.max(this.lastOk, sentAt);
  }

  setTtl(ttlSeconds: number): void {
    if (ttlSeconds * 1000 === this.ttlMs) return;
    this.ttlMs = ttlSeconds * 1000;
    if (this.timer !== undefined) this.arm();
  }

  get ttl(): number {
    return this.ttlMs;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(): void {
    clearTimeout(this.timer);
    const remaining = this.lastOk + this.ttlMs * USABLE_SHARE - performance.now();
    this.timer = setTimeout(
      () => {
        // Renewals do not touch the timer; when it fires early it is set again for what is left.
        if (performance.now() >= this.lastOk + this.ttlMs * USABLE_SHARE) this.onExpired();
        else this.arm();
      },
      Math.max(1, Math.ceil(remaining)),
    );
  }
}
