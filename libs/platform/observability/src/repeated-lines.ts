const PERIOD_MS = 10_000;
/** Beyond this, lines are written without being compared. */
const MAX_KEYS = 1_000;

interface Repeated {
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Holds back lines that equal one written within the last ten seconds, and counts them: an outage that every poll
 * reports several times a second is one line at its beginning and one for each ten seconds that it lasts.
 */
export class RepeatedLines {
  private readonly known = new Map<string, Repeated>();

  constructor(private readonly periodMs = PERIOD_MS) {}

  /** Whether to write the line now. `sumUp` writes it later, with how often it was held back. */
  isNew(key: string, sumUp: (count: number) => void): boolean {
    const known = this.known.get(key);
    if (known) {
      known.count += 1;
      return false;
    }
    if (this.known.size < MAX_KEYS) this.known.set(key, { count: 0, timer: this.schedule(key, sumUp) });
    return true;
  }

  private schedule(key: string, sumUp: (count: number) => void): NodeJS.Timeout {
    const timer = setInterval(() => {
      const known = this.known.get(key);
      if (known && known.count > 0) {
        sumUp(known.count);
        known.count = 0;
        return;
      }
      clearInterval(timer);
      this.known.delete(key);
    }, this.periodMs);
    timer.unref();
    return timer;
  }
}
