import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';
import { LEASED } from './executions.store.js';

export interface WaitingExecution {
  readonly runId: string;
  /** Its agent waits for other runs. */
  readonly isWaiting: boolean;
  /** The wait is over, and the agent continues when the execution has a slot. */
  readonly wantsSlot: boolean;
  readonly holdsSlot: boolean;
}

const READ = statement('run-waits.read')`
  SELECT e.run_id AS "runId", e.awaits_runs_since IS NOT NULL AS "isWaiting", e.slot_wanted_at IS NOT NULL AS "wantsSlot",
      e.slot_held AS "holdsSlot" FROM executions e WHERE ${LEASED}`;
const BEGIN = statement('run-waits.begin')`
  UPDATE executions SET awaits_runs_since = headrace.now(), slot_wanted_at = NULL
   WHERE id = $1 AND phase = 'started' AND awaits_runs_since IS NULL RETURNING 1`;
const WANT = statement('run-waits.want-slot')`
  UPDATE executions SET slot_wanted_at = coalesce(slot_wanted_at, headrace.now()) WHERE id = $1`;
const STOP_WANTING = statement('run-waits.stop-wanting-slot')`
  UPDATE executions SET slot_wanted_at = NULL WHERE id = $1`;
const END = statement('run-waits.end')`
  UPDATE executions SET awaits_runs_since = NULL WHERE id = $1`;

@Injectable()
export class RunWaitsStore {
  constructor(private readonly database: Database) {}

  /** Null when the lease is gone. */
  async read(executionId: string, leaseEpoch: number, queryable: Queryable = this.database) {
    const [row] = await queryable.query<WaitingExecution>(READ, [executionId, leaseEpoch]);
    return row ?? null;
  }

  /** False: the agent is in no turn, or it waits already. */
  async begin(tx: Queryable, executionId: string): Promise<boolean> {
    return (await tx.query(BEGIN, [executionId])).length > 0;
  }

  async wantSlot(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(WANT, [executionId]);
  }

  async stopWantingSlot(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(STOP_WANTING, [executionId]);
  }

  async end(tx: Queryable, executionId: string): Promise<void> {
    await tx.query(END, [executionId]);
  }
}
