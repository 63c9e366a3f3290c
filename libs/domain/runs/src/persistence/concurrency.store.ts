import { Injectable } from '@nestjs/common';
import { type Queryable, statement, writtenRow } from '#platform/persistence';
import type { RunState } from '#execution/executions';
import type { Run } from '../domain/run.js';

/** The newest run of a key, with what decides whether it can be cancelled. */
export interface KeyHolder extends Pick<Run, 'source' | 'executionLocation' | 'config'> {
  readonly state: RunState;
  readonly hasLiveExecution: boolean;
}

const LOCK = statement('concurrency-keys.lock')`
  SELECT run_id FROM concurrency_keys WHERE slot_key = $1 AND key = $2 FOR UPDATE`;
/** Apart from the lock: a statement that waits for it does not see a run that was created meanwhile. */
const READ = statement('concurrency-keys.read')`
  SELECT r.state, r.source, r.execution_location AS "executionLocation", r.config,
    EXISTS (SELECT 1 FROM executions e WHERE e.run_id = r.id AND e.ended_at IS NULL) AS "hasLiveExecution"
  FROM runs r WHERE r.id = $1`;
/** `$4`: the holder that was locked, or null. Another transaction may have inserted the first one meanwhile. */
const HOLD = statement('concurrency-keys.hold')`
  INSERT INTO concurrency_keys AS k (slot_key, key, run_id) VALUES ($1, $2, $3)
  ON CONFLICT (slot_key, key) DO UPDATE SET run_id = EXCLUDED.run_id WHERE k.run_id = $4::uuid RETURNING 1`;

@Injectable()
export class ConcurrencyStore {
  /** The newest run. Until the transaction ends no other one of the key is created; without one only {@link hold} decides. */
  async lock(tx: Queryable, slotKey: string, key: string): Promise<string | null> {
    const [row] = await tx.query<{ run_id: string }>(LOCK, [slotKey, key]);
    return row?.run_id ?? null;
  }

  /** After {@link lock}, in the same transaction. */
  async read(tx: Queryable, runId: string): Promise<KeyHolder> {
    return writtenRow(await tx.query<KeyHolder>(READ, [runId]));
  }

  /** False: another transaction has created the first run of the key. */
  async hold(tx: Queryable, slotKey: string, key: string, runId: string, before: string | null): Promise<boolean> {
    return (await tx.query(HOLD, [slotKey, key, runId, before])).length > 0;
  }
}
