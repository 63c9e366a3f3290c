/** Tells the processor that runs may be placed now: a run was created, or a slot was freed. A hint; never throws. */
export abstract class PlacementNudge {
  abstract nudge(): void;
}

export interface Offer {
  readonly executionId: string;
  readonly runId: string;
}

/**
 * Where a run is placed. An executor starts a runner for the offer and makes sure that nothing of the execution is
 * left on its machine once the runner has gone.
 */
export abstract class Executor {
  /** False: nothing can be started for the time being, and runs are better left in the queue. */
  get isReady(): boolean {
    return true;
  }
  /** How many more runners may be started now; fewer while runners take long to claim their executions. */
  startCapacity(): Promise<number> {
    return Promise.resolve(Number.POSITIVE_INFINITY);
  }
  abstract launch(offer: Offer): void;
  /** Clears what an earlier process left behind; resolves before the first launch. */
  abstract prepare(): Promise<void>;
  /** Lets what works finish within `graceMs`, then hands back or ends the rest. Nothing runs afterwards. */
  abstract drain(graceMs: number): Promise<void>;
}
