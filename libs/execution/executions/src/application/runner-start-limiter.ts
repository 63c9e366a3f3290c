import type { HostLog } from '#execution/backends';

/** A runner that has not claimed its execution by then hangs: its offer expires, and the run is offered again. */
const MAX_START_MS = 5 * 60_000;

export interface RunnerStartLimiterOptions {
  /** Gives these executions another CLAIM_DEADLINE; returns those that are still offered. */
  readonly extendOffers: (executionIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly claimDeadlineMs: number;
  /** Slots for hosted runs: a limit that is no lower is none. */
  readonly slots: number;
  readonly log: HostLog;
  readonly now?: () => number;
}

interface Start {
  readonly at: number;
  isLate: boolean;
}

/**
 * Runners that are being started, or are alive and have not claimed their execution yet. Their offers are extended: on an overloaded machine a
 * runner needs longer than CLAIM_DEADLINE to start, and killing it for that would repeat the same work. How many may start at
 * the same time is halved when one of them is late, and grows by one with each that is in time.
 */
export class RunnerStartLimiter {
  /** Whose program does not run yet, for example while an image is pulled: what ends the start, if it can end. */
  private readonly accepted = new Map<string, (() => void) | null>();
  private readonly starts = new Map<string, Start>();
  private readonly now: () => number;
  private limit = Number.POSITIVE_INFINITY;

  constructor(private readonly options: RunnerStartLimiterOptions) {
    this.now = options.now ?? (() => performance.now());
  }

  /** An offer that has lapsed before its execution began calls `onLapsed`. */
  accept(executionId: string, onLapsed: () => void): void {
    this.accepted.set(executionId, onLapsed);
  }

  /** From now on an offer that is gone may have been claimed, which is seen before the program is known to run. */
  begun(executionId: string): void {
    if (this.accepted.has(executionId)) this.accepted.set(executionId, null);
  }

  started(executionId: string): void {
    this.accepted.delete(executionId);
    this.starts.set(executionId, { at: this.now(), isLate: false });
  }

  gone(executionId: string): void {
    this.accepted.delete(executionId);
    this.starts.delete(executionId);
  }

  /** How many more may be started now. Costs a round trip only while there is a limit. */
  async capacity(): Promise<number> {
    if (this.limit === Number.POSITIVE_INFINITY) return this.limit;
    await this.extendOffers();
    return Math.max(0, this.limit - this.starts.size);
  }

  /** To be called several times within CLAIM_DEADLINE. One round trip while a runner starts, else none. */
  async extendOffers(): Promise<void> {
    const alive = [...this.starts].filter(([, { at }]) => this.now() - at < MAX_START_MS);
    const accepted = [...this.accepted.keys()];
    if (alive.length + accepted.length === 0) return;
    const offered = await this.options.extendOffers([...accepted, ...alive.map(([executionId]) => executionId)]);
    for (const executionId of accepted.filter((id) => !offered.has(id))) this.accepted.get(executionId)?.();
    let isOneLate = false;
    for (const [executionId, start] of alive) {
      if (!offered.has(executionId)) this.claimed(executionId, start);
      else if (!start.isLate && this.now() - start.at > this.options.claimDeadlineMs) {
        start.isLate = true;
        isOneLate = true;
      }
    }
    if (isOneLate) this.lower();
  }

  private claimed(executionId: string, { at, isLate }: Start): void {
    // It may have ended, or been counted already, while the database was asked.
    if (this.starts.get(executionId)?.at !== at) return;
    this.starts.delete(executionId);
    if (isLate) return;
    this.limit += 1;
    if (this.limit >= this.options.slots) this.limit = Number.POSITIVE_INFINITY;
  }

  private lower(): void {
    const lowered = Math.max(1, Math.floor(Math.min(this.limit, this.starts.size) / 2));
    if (lowered === this.limit) return;
    this.limit = lowered;
    this.options.log.warn(`Runners start too slowly: at most ${lowered} start at the same time until that changes.`);
  }
}
