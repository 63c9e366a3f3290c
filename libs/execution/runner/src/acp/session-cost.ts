/**
 * What a session costs, in US dollars, of which agents tell the sum so far. A sum is about the session or, after it was
 * loaded into another process, about that process alone: Claude Code does the one or the other, as its process before has
 * ended. Whatever is in doubt counts once at most.
 */
export class SessionCost {
  private total: number | undefined;
  private counted: number | undefined;
  private resumed = false;
  private earlier: number | undefined;

  /** `earlier`: what the turns before have come to, where that is known of a session that was resumed. */
  startSession(resumed: boolean, earlier?: number): void {
    this.resumed = resumed;
    this.earlier = earlier;
  }

  /** A replay tells what is known already. */
  replayed(total: number): void {
    this.total = total;
    this.counted = total;
  }

  note(total: number): void {
    this.total = total;
  }

  /** What has not been counted yet; undefined when the agent tells no cost. */
  growth(): number | undefined {
    if (this.total === undefined) return undefined;
    const counted = this.counted ?? this.beginning(this.total);
    this.counted = Math.max(this.total, counted);
    return Math.max(0, this.total - counted);
  }

  /** Where to count from when `first` is the first sum that is told. */
  private beginning(first: number): number {
    if (!this.resumed) return 0;
    if (this.earlier === undefined) return first;
    return first >= this.earlier ? this.earlier : 0;
  }
}
