import { Injectable } from '@nestjs/common';
import { type Queryable, statement, writtenRow } from '#platform/persistence';
import type { RunState } from '#execution/executions';
import type { Run } from '../domain/run.js';

/** The newest run of a key, with what decides whether it can be cancelled. */
export interface KeyHolder extends Pick<Run, 'source' | 'executionLocation' | 'config'> {
  readonly state: RunState;
  readonly hasLiveExecution: boolean;
}

export interface KeyedEvent {
  readonly runId: string;
  /** When that happened which the run was created for. */
  readonly eventAt: Date;
}

const LOCK = statement('concurrency-keys.lock')`
  SELECT run_id AS "runId", event_at AS "eventAt" FROM concurrency_keys WHERE slot_key = $1 AND key = $2 FOR UPDATE`;
/** Apart from the lock: a statement that waits for it does not see a run that was created meanwhile. */
const READ = statement('concurrency-keys.read')`
  SELECT r.state, r.source, r.execution_location AS "executionLocation", r.config,
    EXISTS (SELECT 1 FROM executions e WHERE e.run_id = r.id AND e.ended_at IS NULL) AS "hasLiveExecution"
  FROM runs r WHERE r.id = $1`;
/** `$5`: the holder that was locked, or null. Another transaction may have inserted the first one meanwhile. */
const HOLD = statement('concurrency-keys.hold')`
  INSERT INTO concurrency_keys AS k (slot_key, key, run_id, event_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (slot_key, key) DO UPDATE SET run_id = EXCLUDED.run_id, event_at = greatest(k.event_at, EXCLUDED.event_at)
   WHERE k.run_id = $5::uuid RETURNING 1`;
const HOLD_AS_NEWEST = statement('concurrency-keys.hold-as-newest')`
  INSERT INTO concurrency_keys AS k (slot_key, key, run_id, event_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (slot_key, key) DO UPDATE SET run_id = EXCLUDED.run_id, event_at = EXCLUDED.event_at
   WHERE k.event_at <= EXCLUDED.event_at`;

@Injectable()
export class ConcurrencyStore {
  /** The newest run. Until the transaction ends no other one of the key is created; without one only {@link hold} decides. */
  async lock(tx: Queryable, slotKey: string, key: string): Promise<KeyedEvent | null> {
    const [row] = await tx.query<KeyedEvent>(LOCK, [slotKey, key]);
    return row ?? null;
  }

  /** After {@link lock}, in the same transaction. */
  async read(tx: Queryable, runId: string): Promise<KeyHolder> {
    return writtenRow(await tx.query<KeyHolder>(READ, [runId]));
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
}
