import { Injectable } from '@nestjs/common';
import { type Queryable, statement, writtenRow } from '#platform/persistence';
import type { PrincipalRef } from '#execution/executions';
import type { Run } from '../domain/run.js';

/** A run of a key that works or will, with what decides whether it can be cancelled. */
export interface ActiveRun extends Pick<Run, 'source' | 'executionLocation' | 'config'> {
  readonly runId: string;
  readonly isHeld: boolean;
}

export interface KeyedEvent {
  readonly runId: string;
  /** When that happened which the run was created for. */
  readonly eventAt: Date;
}

const LOCK = statement('concurrency-keys.lock')`
  SELECT run_id AS "runId", event_at AS "eventAt" FROM concurrency_keys WHERE slot_key = $1 AND key = $2 FOR UPDATE`;
/** Columns of {@link ActiveRun} of `runs AS r`. */
const ACTIVE_RUN = `r.id AS "runId", r.source, r.execution_location AS "executionLocation", r.config, r.is_held AS "isHeld"`;
/** Apart from the lock: a statement that waits for it does not see a run that was created meanwhile. */
const FIND_ACTIVE = statement('concurrency-keys.find-active')`
  SELECT ${ACTIVE_RUN}
    FROM runs r LEFT JOIN concurrency_queue q ON q.run_id = r.id
   WHERE is_run_active(r.id, r.state)
     AND r.id IN (SELECT q.run_id FROM concurrency_queue q WHERE q.slot_key = $1 AND q.key = $2 UNION SELECT $3)
   ORDER BY q.position DESC NULLS LAST LIMIT $4`;
/** `$5`: the holder that was locked, or null. Another transaction may have inserted the first one meanwhile. */
const HOLD = statement('concurrency-keys.hold')`
  INSERT INTO concurrency_keys AS k (slot_key, key, run_id, event_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (slot_key, key) DO UPDATE SET run_id = EXCLUDED.run_id, event_at = greatest(k.event_at, EXCLUDED.event_at)
   WHERE k.run_id = $5::uuid RETURNING 1`;
const HOLD_AS_NEWEST = statement('concurrency-keys.hold-as-newest')`
  INSERT INTO concurrency_keys AS k (slot_key, key, run_id, event_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (slot_key, key) DO UPDATE SET run_id = EXCLUDED.run_id, event_at = EXCLUDED.event_at
   WHERE k.event_at <= EXCLUDED.event_at`;

const EXISTS = statement('concurrency-keys.exists')`
  SELECT EXISTS (SELECT 1 FROM concurrency_keys WHERE slot_key = $1 AND key = $2) AS found`;
/** The rows are in the order of `$3`, which has earlier runs first; those that have ended are left out. */
const ENQUEUE = statement('concurrency-queue.insert')`
  INSERT INTO concurrency_queue (slot_key, key, run_id, start_at, held_since)
  SELECT $1, $2, q.run_id, CASE WHEN q.run_id = $4 THEN t.start_at END, CASE WHEN q.run_id = $4 THEN t.held_since END
    FROM unnest($3::uuid[]) WITH ORDINALITY AS q (run_id, nth)
    LEFT JOIN LATERAL (SELECT s.held_since, least(headrace.now() + $5::float8 * interval '1 millisecond',
        s.held_since + $7::float8 * interval '1 millisecond') AS start_at
      FROM (SELECT coalesce($6::timestamptz, headrace.now()) AS held_since) s) t ON $5::float8 IS NOT NULL
   WHERE q.run_id = $4 OR is_run_active(q.run_id, (SELECT r.state FROM runs r WHERE r.id = q.run_id))
   ORDER BY q.nth
  ON CONFLICT (run_id) DO NOTHING`;
/** Apart from the insertion: a run that the same transaction cancels is not active. */
const HOLD_RUN = statement('concurrency-queue.hold-run')`
  UPDATE runs SET is_held = true WHERE id = $3 AND ($4 OR EXISTS (
    SELECT 1 FROM concurrency_queue q JOIN runs r ON r.id = q.run_id
     WHERE q.slot_key = $1 AND q.key = $2 AND q.run_id <> $3 AND is_run_active(r.id, r.state)))`;
const LOCK_RUN = statement('concurrency-queue.lock-run')`SELECT 1 FROM runs WHERE id = $1 FOR NO KEY UPDATE`;
const FIND_DELAYED = statement('concurrency-queue.find-delayed')`
  SELECT q.held_since AS "heldSince" FROM concurrency_queue q JOIN runs r ON r.id = q.run_id
   WHERE q.run_id = $1 AND q.held_since IS NOT NULL AND r.is_held AND r.state = 'QUEUED'`;
const REPLACE = statement('concurrency-queue.replace')`
  UPDATE concurrency_queue SET replaced_by = $2 WHERE run_id = $1`;
/** The state PENDING is short, and nobody can cancel a run in it. */
const FIND_REPLACED = statement('concurrency-queue.find-replaced')`
  SELECT ${ACTIVE_RUN},
    q.replaced_by AS "replacedBy", json_build_object('type', r.creator_type, 'uid', r.creator_uid) AS principal
    FROM concurrency_queue q JOIN runs r ON r.id = q.run_id
   WHERE q.replaced_by IS NOT NULL AND r.state IN ('QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED') LIMIT $1`;
const RELEASE = statement('concurrency-queue.release')`
  SELECT p_slot_key AS "slotKey", p_key AS key, released FROM headrace.release_held_runs($1, $2, $3)`;

/** A run that could not be cancelled when another one replaced it. */
export interface ReplacedRun extends ActiveRun {
  readonly replacedBy: string;
  readonly principal: PrincipalRef;
}

/** How long a run waits for later events that replace it. Milliseconds. */
export interface RunDelay {
  readonly delayMs: number;
  /** From the first run that was replaced. */
  readonly maxDelayMs: number;
  /** When that one was created; null: it is this one. */
  readonly since: Date | null;
}

/** A position among the keys of the queue. */
export interface QueuePosition {
  readonly slotKey: string;
  readonly key: string;
}

export interface ReleaseStep {
  readonly released: number;
  /** Null when there are no more keys. */
  readonly next: QueuePosition | null;
}

@Injectable()
export class ConcurrencyStore {
  /** The newest run. Until the transaction ends no other one of the key is created; without one only {@link hold} decides. */
  async lock(tx: Queryable, slotKey: string, key: string): Promise<KeyedEvent | null> {
    const [row] = await tx.query<KeyedEvent>(LOCK, [slotKey, key]);
    return row ?? null;
  }

  /** Whether a run was created with the key and is not deleted. One round trip. */
  async exists(queryable: Queryable, slotKey: string, key: string): Promise<boolean> {
    const [row] = await queryable.query<{ found: boolean }>(EXISTS, [slotKey, key]);
    return row?.found === true;
  }

  /** After {@link lock}, in the same transaction: the newest ones first. `newest`: of the key, which may not be in the queue. */
  findActive(tx: Queryable, { slotKey, key }: QueuePosition, newest: string, limit: number): Promise<ActiveRun[]> {
    return tx.query<ActiveRun>(FIND_ACTIVE, [slotKey, key, newest, limit]);
  }

  /** False: another transaction has created the first run of the key. */
  async hold(
    tx: Queryable,
    slotKey: string,
    key: string,
    { runId, eventAt }: KeyedEvent,
    before: string | null,
  ): Promise<boolean> {
    return (await tx.query(HOLD, [slotKey, key, runId, eventAt, before])).length > 0;
  }

  /** Beside the key of {@link hold}, and after it: unless a run for a newer event holds the key. */
  async holdAsNewest(tx: Queryable, slotKey: string, key: string, { runId, eventAt }: KeyedEvent): Promise<void> {
    await tx.query(HOLD_AS_NEWEST, [slotKey, key, runId, eventAt]);
  }

  /**
   * Within the transaction that has created `runId` and holds the key: it is held while an earlier run of the key is active, and
   * until its delay has passed. `before`: a run that may not be in the queue because it was created without it.
   */
  async enqueue(
    tx: Queryable,
    { slotKey, key }: QueuePosition,
    runId: string,
    { before, delay }: { readonly before: string | null; readonly delay: RunDelay | null },
  ): Promise<void> {
    const runs = before === null ? [runId] : [before, runId];
    const { delayMs = null, since = null, maxDelayMs = null } = delay ?? {};
    await tx.query(ENQUEUE, [slotKey, key, runs, runId, delayMs, since, maxDelayMs]);
    await tx.query(HOLD_RUN, [slotKey, key, runId, delay !== null]);
  }

  /** The run is cancelled later, see {@link findReplaced}. */
  async replace(tx: Queryable, runId: string, replacedBy: string): Promise<void> {
    await tx.query(REPLACE, [runId, replacedBy]);
  }

  /** Replaced runs that can be cancelled now. */
  findReplaced(tx: Queryable, limit: number): Promise<ReplacedRun[]> {
    return tx.query<ReplacedRun>(FIND_REPLACED, [limit]);
  }

  /** Whether the run still waits for later events, and since when; it cannot be released until the transaction ends. */
  async lockDelayed(tx: Queryable, runId: string): Promise<{ readonly heldSince: Date } | null> {
    await tx.query(LOCK_RUN, [runId]);
    const [delayed] = await tx.query<{ heldSince: Date }>(FIND_DELAYED, [runId]);
    return delayed ?? null;
  }

  /** Visits up to `max` keys after `position`, in one statement. */
  async release(queryable: Queryable, position: QueuePosition, max: number): Promise<ReleaseStep> {
    const row = writtenRow(
      await queryable.query<{ slotKey: string | null; key: string | null; released: number }>(RELEASE, [
        position.slotKey,
        position.key,
        max,
      ]),
    );
    const { slotKey, key, released } = row;
    return { released, next: slotKey === null || key === null ? null : { slotKey, key } };
  }
}
