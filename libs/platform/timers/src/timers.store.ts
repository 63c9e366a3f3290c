import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement, writtenRow, statement } from '#platform/persistence';
import type { Cron } from './domain/cron/croner-cron.js';
import { jitterOf, type Outage } from './domain/due-decision.js';

/** A row that waits for the next due time of a cron expression. */
export interface Timer {
  /** Selects the handler. */
  readonly kind: string;
  readonly key: string;
  readonly cron: string;
  readonly timezone: string;
  readonly jitterSeconds: number;
  /** The due time that it waits for. */
  readonly dueAt: Date;
  /** When it is fired for that time. */
  readonly fireAt: Date;
}

/**
 * A timer that waits for a due time of the same expression keeps it. One whose due time has passed, and which waits for its
 * jitter, waits at most until the end of the new jitter.
 */
const SET = statement('timers.set')`
  INSERT INTO timers AS t (kind, key, cron, timezone, jitter_seconds, due_at, fire_at)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::timestamptz[], $7::timestamptz[])
  ON CONFLICT (kind, key) DO UPDATE SET cron = excluded.cron, timezone = excluded.timezone, jitter_seconds = excluded.jitter_seconds,
    due_at = CASE WHEN (t.cron, t.timezone) = (excluded.cron, excluded.timezone) THEN t.due_at ELSE excluded.due_at END,
    fire_at = CASE WHEN (t.cron, t.timezone, t.jitter_seconds) = (excluded.cron, excluded.timezone, excluded.jitter_seconds)
      THEN t.fire_at
      WHEN (t.cron, t.timezone) = (excluded.cron, excluded.timezone) AND t.due_at <> excluded.due_at
      THEN least(t.fire_at, t.due_at + excluded.jitter_seconds * interval '1 second') ELSE excluded.fire_at END`;
const REMOVE = statement('timers.remove')`
  DELETE FROM timers WHERE kind = $1 AND key = ANY($2::text[])`;
const CLAIM = statement('timers.claim')`
  SELECT kind, key, cron, timezone, jitter_seconds AS "jitterSeconds", due_at AS "dueAt", fire_at AS "fireAt",
    headrace.now() AS now FROM timers
   WHERE fire_at <= headrace.now() AND kind = ANY($2::text[]) ORDER BY fire_at, kind, key LIMIT $1 FOR UPDATE SKIP LOCKED`;
const MOVE = statement('timers.move')`
  UPDATE timers t SET due_at = m.due_at, fire_at = m.fire_at
    FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) AS m (kind, key, due_at, fire_at)
   WHERE t.kind = m.kind AND t.key = m.key`;
/** A longer time in which no process looked for due timers is an outage. */
const OUTAGE_AFTER = '30 seconds';
/** The heartbeat is written last: a statement cannot lock a row that it has changed itself, and would skip it. */
const RECORD_HEARTBEAT = statement('timers.record-heartbeat')`
  WITH t AS MATERIALIZED (SELECT headrace.now() AS at),
  before AS (SELECT b.at FROM timer_beat b FOR UPDATE),
  outage AS (INSERT INTO timer_outages (from_at, until_at)
    SELECT before.at, t.at FROM before, t WHERE t.at > before.at + interval '${OUTAGE_AFTER}' ON CONFLICT DO NOTHING RETURNING 1)
  INSERT INTO timer_beat (at) SELECT t.at FROM t, (SELECT count(*) FROM outage) noted ON CONFLICT ("only") DO UPDATE SET at = excluded.at`;
const OUTAGES = statement('timers.outages')`
  SELECT from_at AS "from", until_at AS until FROM timer_outages WHERE until_at >= $1 ORDER BY until_at`;
const PRUNE_OUTAGES = statement('timers.prune-outages')`
  DELETE FROM timer_outages o WHERE until_at < headrace.now() - interval '30 days'
    AND NOT EXISTS (SELECT 1 FROM timers WHERE due_at <= o.until_at)`;

const LAG = statement('timers.lag')`
  SELECT coalesce(greatest(0, extract(epoch FROM headrace.now() - min(fire_at))), 0)::float8 AS seconds FROM timers`;

const NOW: Statement = { name: 'timers.now', text: 'SELECT headrace.now() AS now' };

@Injectable()
export class TimersStore {
  constructor(private readonly database: Database) {}

  /** The time of the clock that timers are fired by. */
  async now(tx: Queryable): Promise<Date> {
    return writtenRow(await tx.query<{ now: Date }>(NOW)).now;
  }

  /** Seconds since the earliest time at which a timer should have fired; 0 when none is late. */
  async lagSeconds(): Promise<number> {
    return writtenRow(await this.database.query<{ seconds: number }>(LAG)).seconds;
  }

  async set(tx: Queryable, timers: readonly Timer[]): Promise<void> {
    if (timers.length === 0) return;
    // In one order everywhere, so that two calls cannot deadlock.
    const sorted = [...timers].sort((one, other) => (one.key < other.key ? -1 : 1));
    await tx.query(SET, valuesOf(sorted, ['kind', 'key', 'cron', 'timezone', 'jitterSeconds', 'dueAt', 'fireAt']));
  }

  async remove(tx: Queryable, kind: string, keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await tx.query(REMOVE, [kind, keys]);
  }

  /** Due timers that no other transaction holds; this transaction holds them until it ends. */
  async claim(
    tx: Queryable,
    kinds: readonly string[],
    limit: number,
  ): Promise<{ readonly now: Date; readonly timers: Timer[] }> {
    const timers = await tx.query<Timer & { now: Date }>(CLAIM, [limit, kinds]);
    return { now: timers[0]?.now ?? new Date(0), timers };
  }

  async move(tx: Queryable, timers: readonly Pick<Timer, 'kind' | 'key' | 'dueAt' | 'fireAt'>[]): Promise<void> {
    if (timers.length > 0) await tx.query(MOVE, valuesOf(timers, ['kind', 'key', 'dueAt', 'fireAt']));
  }

  /** Records that a process looks for due timers, and the outage before it, if any. One round trip. */
  async recordHeartbeat(): Promise<void> {
    await this.database.query(RECORD_HEARTBEAT);
  }

  /** Outages that due times from `since` on may lie in. */
  async outages(tx: Queryable, since: Date): Promise<Outage[]> {
    return tx.query<{ from: Date; until: Date }>(OUTAGES, [since]);
  }

  async pruneOutages(): Promise<void> {
    await this.database.query(PRUNE_OUTAGES);
  }
}

const valuesOf = <Row extends object>(rows: readonly Row[], keys: readonly (keyof Row)[]): unknown[] =>
  keys.map((key) => rows.map((row) => row[key]));

interface RequestedTimer {
  readonly key: string;
  readonly cron: Cron;
  readonly jitterSeconds: number;
}

/** Sets and removes timers that fire at the due times of a cron expression; the `TimerHandler` of their kind handles them. */
@Injectable()
export class Timers {
  constructor(private readonly store: TimersStore) {}

  /** From the commit on they fire at their due times; SET describes those that wait already. Keys of one call differ. */
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
