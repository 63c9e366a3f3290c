import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { Cron } from './domain/cron/croner-cron.js';
import { jitterOf } from './domain/due-decision.js';
import { TimersStore } from './timers.store.js';

export interface RequestedTimer {
  readonly key: string;
  readonly cron: Cron;
  readonly jitterSeconds: number;
}

/** Sets and removes timers that fire at the due times of a cron expression; the `TimerHandler` of their kind handles them. */
@Injectable()
export class Timers {
  constructor(private readonly store: TimersStore) {}

  /**
   * From the commit on they fire at their due times. A timer that waits for a due time of the same expression already keeps
   * waiting for it. Keys of one call differ.
   */
  async set(tx: Queryable, kind: string, timers: readonly RequestedTimer[]): Promise<void> {
    if (timers.length === 0) return;
    // Not this host's time: by another clock a due time could be left out, or one in the past be fired.
    const now = await this.store.now(tx);
    const waiting = timers.flatMap(({ key, cron, jitterSeconds }) => {
      const dueAt = cron.next(now);
      if (dueAt === null) return [];
      const fireAt = new Date(dueAt.getTime() + jitterOf(key, dueAt, jitterSeconds));
      return [{ kind, key, cron: cron.expression, timezone: cron.timezone, jitterSeconds, dueAt, fireAt }];
    });
    await this.store.set(tx, waiting);
  }

  /** From the commit on they do not fire. Waits for a firing under way. */
  async remove(tx: Queryable, kind: string, keys: readonly string[]): Promise<void> {
    await this.store.remove(tx, kind, keys);
  }
}
