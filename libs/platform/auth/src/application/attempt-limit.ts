import type { Clock } from '#platform/kernel';

/** Of more keys, the oldest windows are forgotten. */
const MAX_KEYS = 10_000;

interface Window {
  count: number;
  readonly endsAt: number;
}

/** Counts attempts by key in fixed windows, in the memory of the process. */
export class AttemptLimit {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly limit: number,
    private readonly windowMs: number,
    private readonly clock: Clock,
  ) {}

  /** Seconds until the next attempt is accepted; 0: it is accepted now. */
  waitSeconds(key: string): number {
    const window = this.windows.get(key);
    const leftMs = (window?.endsAt ?? 0) - this.clock.now().getTime();
    return window !== undefined && leftMs > 0 && window.count >= this.limit ? Math.ceil(leftMs / 1000) : 0;
  }

  note(key: string): void {
    const now = this.clock.now().getTime();
    const known = this.windows.get(key);
    if (known !== undefined && known.endsAt > now) {
      known.count += 1;
      return;
    }
    // A window that begins is moved to the end, so that the first ones are those that end first.
    this.windows.delete(key);
    for (const [other, { endsAt }] of this.windows) {
      if (endsAt > now && this.windows.size < MAX_KEYS) break;
      this.windows.delete(other);
    }
    this.windows.set(key, { count: 1, endsAt: now + this.windowMs });
  }

  /** Removes one attempt. */
  forgive(key: string): void {
    const window = this.windows.get(key);
    if (window !== undefined && window.count > 0) window.count -= 1;
  }
}
