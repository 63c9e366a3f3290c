import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { DueDecision } from './domain/due-decision.js';

export type DueTimer = Pick<DueDecision, 'fire' | 'missed'> & { readonly key: string };

/**
 * `done`: the timer waits for its next due time. `remove`: there is nothing to fire it for, and it is removed. `retry`: a
 * fault; it is fired for the same due time after a delay.
 */
export type TimerOutcome = 'done' | 'remove' | 'retry';

/**
 * Extension point: what timers of one kind do. Registered with `TimerHandlers`. `fire` is called while `tx` holds the rows of
 * the timers, so that changes of them wait, and it may be called again for the same due time after a crash: what it starts must
 * be idempotent by (key, fire). Once `signal` is aborted it begins nothing more: the remaining timers are `retry`.
 */
export abstract class TimerHandler {
  /** The kind of its timers: lower case letters. */
  abstract readonly kind: string;
  /** The outcome of each timer, by its position. Throws on faults that concern all of them. */
  abstract fire(tx: Queryable, due: readonly DueTimer[], signal: AbortSignal): Promise<readonly TimerOutcome[]>;
}

/** The kinds of timers that this process can fire. Timers of other kinds wait for a process that can. */
@Injectable()
export class TimerHandlers {
  private readonly handlers = new Map<string, TimerHandler>();

  register(handler: TimerHandler): void {
    if (this.handlers.has(handler.kind)) throw new Error(`Timers of the kind ${handler.kind} have two handlers.`);
    this.handlers.set(handler.kind, handler);
  }

  find(kind: string): TimerHandler | undefined {
    return this.handlers.get(kind);
  }

  kinds(): string[] {
    return [...this.handlers.keys()];
  }
}
