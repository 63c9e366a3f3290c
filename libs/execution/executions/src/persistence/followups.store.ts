import { Injectable } from '@nestjs/common';
import { type Queryable, statement } from '#platform/persistence';
import type { FollowupOutcome } from '../domain/followup-routing.js';
import type { PrincipalRef } from '../domain/run.js';
import { MAX_REROUTES } from '../domain/run.js';

export interface NewFollowup {
  readonly id: string;
  readonly runId: string;
  readonly message: string;
  readonly mode: string | null;
  readonly outcome: FollowupOutcome;
  readonly author: PrincipalRef;
  /** The debug session that it is meant for; null: the run. */
  readonly debugExecutionId: string | null;
  /** Unique; null: a person has sent it. */
  readonly launchKey: string | null;
}

const INSERT = statement('followups.insert')`
  INSERT INTO run_followups (id, run_id, message, mode, outcome, author_type, author_uid, debug_execution_id, launch_key, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, headrace.now())`;
const FIND_LAUNCHED = statement('followups.find-launched')`
  SELECT launch_key AS key, run_id FROM run_followups WHERE launch_key = ANY($1::text[])`;
const COUNT_LAUNCHED = statement('followups.count-launched')`
  SELECT count(*)::int AS count FROM run_followups WHERE run_id = $1 AND starts_with(launch_key, $2)`;
const CONSUME = statement('followups.consume')`
  UPDATE run_followups SET consumed_at = headrace.now(), execution_id = $3 WHERE id = $1 AND run_id = $2 AND consumed_at IS NULL`;
const DROP_PENDING = statement('followups.drop-pending')`
  UPDATE run_followups SET consumed_at = headrace.now() WHERE run_id = $1 AND consumed_at IS NULL`;
const MEASURE_PENDING = statement('followups.measure-pending')`
  SELECT count(*)::int AS count, coalesce(sum(bytes), 0)::int AS bytes
    FROM (SELECT octet_length(message) AS bytes FROM run_followups WHERE run_id = $1 AND consumed_at IS NULL LIMIT $2) p`;

const ADOPT = statement('debug-sessions.adopt')`UPDATE run_followups SET debug_execution_id = $2
   WHERE run_id = $1 AND consumed_at IS NULL AND debug_execution_id IS NOT NULL RETURNING id`;
const HAS_PENDING_OF_DEBUG = statement('debug-sessions.has-pending')`
  SELECT id FROM run_followups WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL LIMIT 1`;
const REROUTE = statement('debug-sessions.reroute')`UPDATE run_followups SET reroutes = reroutes + 1
   WHERE run_id = $1 AND debug_execution_id = $2 AND consumed_at IS NULL AND reroutes < ${MAX_REROUTES} RETURNING id`;

@Injectable()
export class FollowupsStore {
  async insert(tx: Queryable, followup: NewFollowup): Promise<void> {
    const { id, runId, message, mode, outcome, author, debugExecutionId, launchKey } = followup;
    const values = [id, runId, message, mode, outcome, author.type, author.uid, debugExecutionId, launchKey];
    await tx.query(INSERT, values);
  }

  /** Run ids by launch key; a key without a follow-up is absent. */
  async findLaunched(queryable: Queryable, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await queryable.query<{ key: string; run_id: string }>(FIND_LAUNCHED, [keys]);
    return new Map(rows.map((row) => [row.key, row.run_id]));
  }

  /** The follow-ups of a run whose launch key begins with `prefix`. */
  async countLaunched(queryable: Queryable, runId: string, prefix: string): Promise<number> {
    const [row] = await queryable.query<{ count: number }>(COUNT_LAUNCHED, [runId, prefix]);
    return row?.count ?? 0;
  }

  async consume(tx: Queryable, followupId: string, runId: string, executionId: string): Promise<void> {
    await tx.query(CONSUME, [followupId, runId, executionId]);
  }

  /** What waits when the run is cancelled is cancelled with it. */
  async dropPending(tx: Queryable, runId: string): Promise<void> {
    await tx.query(DROP_PENDING, [runId]);
  }

  async hasPending(tx: Queryable, runId: string): Promise<boolean> {
    return (await this.measurePending(tx, runId, 1)).count > 0;
  }

  /** Number and bytes of `limit` messages at most. The caller holds the run's lock, so they hold until it commits. */
  async measurePending(tx: Queryable, runId: string, limit: number): Promise<{ count: number; bytes: number }> {
    const [row] = await tx.query<{ count: number; bytes: number }>(MEASURE_PENDING, [runId, limit]);
    return row ?? { count: 0, bytes: 0 };
  }

  /** Whether messages for an earlier debug session of the run, which was lost, now wait for this one. */
  async adoptOfDebug(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    return (await tx.query(ADOPT, [runId, executionId])).length > 0;
  }

  async hasPendingOfDebug(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    return (await tx.query(HAS_PENDING_OF_DEBUG, [runId, executionId])).length > 0;
  }

  /** A debug session ends: whether messages that it never received put the run back into the queue. */
  async rerouteOfDebug(tx: Queryable, runId: string, executionId: string): Promise<boolean> {
    return (await tx.query(REROUTE, [runId, executionId])).length > 0;
  }
}
