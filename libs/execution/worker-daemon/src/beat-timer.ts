const SOON_MS = 50;

/** Beats every so many seconds ± 20 %, and soon after something has changed. */
export class BeatTimer {
  private seconds = 0;
  private timer: NodeJS.Timeout | undefined;
  private soonTimer: NodeJS.Timeout | undefined;

  constructor(private readonly beat: () => void) {}

  /** From now on. */
  every(seconds: number): void {
    this.seconds = seconds;
    this.arm();
  }

  /** Several changes in one moment make one beat. */
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
