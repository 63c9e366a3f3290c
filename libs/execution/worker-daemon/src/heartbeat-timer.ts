const SOON_MS = 50;

/** Calls `beat` periodically, ± 20 % so that workers do not synchronize, and soon after a change. */
export class HeartbeatTimer {
  private seconds = 0;
  private timer: NodeJS.Timeout | undefined;
  private soonTimer: NodeJS.Timeout | undefined;

  constructor(private readonly beat: () => void) {}

  every(seconds: number): void {
    this.seconds = seconds;
    this.arm();
  }

  /** Several changes within a moment cause one heartbeat. */
  soon(): void {
    if (this.seconds === 0) return;
    this.soonTimer ??= setTimeout(() => {
      this.soonTimer = undefined;
      this.beat();
      this.arm();
    }, SOON_MS);
  }

  stop(): void {
    this.seconds = 0;
    clearTimeout(this.timer);
    clearTimeout(this.soonTimer);
    this.soonTimer = undefined;
  }

  private arm(): void {
    clearTimeout(this.timer);
    if (this.seconds === 0) return;
    const waitMs = this.seconds * 1000 * (0.8 + Math.random() * 0.4);
    this.timer = setTimeout(() => {
      this.beat();
      this.arm();
    }, waitMs);
  }
}
