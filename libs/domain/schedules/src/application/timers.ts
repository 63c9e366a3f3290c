import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import type { Cron } from '../domain/cron/index.js';
import { jitterOf } from '../domain/jitter.js';
import { TimersStore } from '../persistence/timers.store.js';

export interface RequestedTimer {
  readonly key: string;
  readonly cron: Cron;
  readonly jitterSeconds: number;
}

/** What rooms may have happen at the times of a cron expression; a `TimerHandler` of the kind does it. */
@Injectable()
export class Timers {
  constructor(private readonly store: TimersStore) {}

  /**
   * From the commit on they fire at the times that come. One that waits for the same expression already goes on waiting
   * for what it waits for. Keys of one call differ.
   */
  async set(tx: Queryable, kind: string, timers: readonly RequestedTimer[]): Promise<void> {
    if (timers.length === 0) return;
    // Not this host's time: by another clock a due time could be left out, or one that has gone by be fired.
    const now = await this.store.now(tx);
    const waiting = timers.flatMap(({ key, cron, jitterSeconds }) => {
      const dueAt = cron.next(now);
      if (dueAt === null) return [];
      const fireAt = new Date(dueAt.getTime() + jitterOf(key, dueAt, jitterSeconds));
      return [{ kind, key, cron: cron.expression, timezone: cron.timezone, jitterSeconds, dueAt, fireAt }];
    });
    await this.store.set(tx, waiting);
  }

  /** From the commit on they fire no more. Waits for a firing under way. */
  async remove(tx: Queryable, kind: string, keys: readonly string[]): Promise<void> {
    await this.store.remove(tx, kind, keys);
  }
}
