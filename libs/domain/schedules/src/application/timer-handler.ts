import type { Queryable } from '#platform/persistence';

export interface DueTimer {
  readonly key: string;
  /** What it is fired for; null when nothing is to be started for it any more. */
  readonly fire: Date | null;
  /** Due times that are given up, the first and the last of them. */
  readonly missed: { readonly first: Date; readonly last: Date } | null;
}

/**
 * `done`: it goes on with its next time. `gone`: there is nothing that it would be fired for; it is removed. `again`: a
 * fault; it is fired for the same time after a while.
 */
export type TimerOutcome = 'done' | 'gone' | 'again';

/**
 * Plug: what timers of one kind do. Registered with `TimerHandlers`. `fire` is called with the timers' rows held by `tx`:
 * whoever removes or changes them waits, and it may be called again for the same time after a crash, so that what it
 * starts must be idempotent by (key, fire). Once `enough` is aborted nothing is begun any more: the others are `again`.
 */
export abstract class TimerHandler {
  /** Of their timers: lower case letters. */
  abstract readonly kind: string;
  /** The outcome of each, by its place. Throws on faults that concern all. */
  abstract fire(tx: Queryable, due: readonly DueTimer[], enough: AbortSignal): Promise<readonly TimerOutcome[]>;
}
