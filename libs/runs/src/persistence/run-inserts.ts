import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#libs/persistence';
import { slotKey } from '../domain/run.js';
import type { RunState } from '../domain/run-state.js';
import { GroupedRunInserts } from './grouped-run-inserts.js';
import type { NewRun } from './new-run.js';

export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
}

/** One run with its first event, guarded by an idempotency key: nothing is written when the key is taken. */
const INSERT_ONCE: Statement = {
  name: 'runs.create-once',
  text: `WITH t AS MATERIALIZED (SELECT headrace.now() AS at), k AS (
  INSERT INTO idempotency_keys (scope, key, request_hash, run_id, created_at) SELECT $20, $21, $22, $1::uuid, t.at FROM t
  ON CONFLICT (scope, key) DO NOTHING RETURNING run_id
), r AS (
  INSERT INTO runs (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
    creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, conversation_id, queued_at, created_at, updated_at)
  SELECT $1::uuid, $2, $3, $4, $5, 'QUEUED', $6, $7, $8, $9, $10, $11::boolean, $12, $13, $14, $15, $16::jsonb, $17::jsonb, $18::uuid, $19::uuid,
    t.at, t.at, t.at FROM t, k
), e AS (
  INSERT INTO run_events (run_id, seq, kind, at, data)
  SELECT $1::uuid, 1, 'run_created', t.at, jsonb_build_object('source', $8, 'creator', jsonb_build_object('type', $12, 'uid', $13)) FROM t, k
)
SELECT (SELECT bool_or(s.used >= s.capacity) FROM slot_pools s WHERE s.key IN ('pool:' || $5, $4)) AS at_capacity,
  EXISTS (SELECT 1 FROM k) AS created FROM t`,
};

const FIND_KEY: Statement = {
  name: 'runs.find-idempotency-key',
  text: `SELECT k.request_hash, k.run_id, r.state FROM idempotency_keys k JOIN runs r ON r.id = k.run_id WHERE k.scope = $1 AND k.key = $2`,
};

export type InsertResult =
  | { readonly kind: 'created'; readonly atCapacity: boolean }
  | { readonly kind: 'replayed'; readonly runId: string; readonly state: RunState }
  | { readonly kind: 'key_reused' };

@Injectable()
export class RunInserts {
  constructor(
    private readonly database: Database,
    private readonly grouped: GroupedRunInserts,
  ) {}

  /** One round trip, shared with runs created at the same time; a repeated idempotency key costs a second one. */
  async insert(run: NewRun, scope: string, claim: IdempotencyClaim | null): Promise<InsertResult> {
    return claim ? this.insertOnce(run, scope, claim) : { kind: 'created', atCapacity: await this.grouped.insert(run) };
  }

  private async insertOnce(
    run: NewRun,
    scope: string,
    claim: IdempotencyClaim,
    isFirstTry = true,
  ): Promise<InsertResult> {
    const [row] = await this.database.query<{ at_capacity: boolean | null; created: boolean }>(INSERT_ONCE, [
      run.id,
      run.owner.teamUid,
      run.owner.userUid,
      slotKey(run.owner),
      run.pool,
      run.title,
      run.prompt,
      run.source,
      run.executionLocation,
      run.mode,
      run.interactive,
      run.creator.type,
      run.creator.uid,
      run.executor.type,
      run.executor.uid,
      JSON.stringify(run.config),
      run.metadata === null ? null : JSON.stringify(run.metadata),
      run.parentRunId,
      run.conversationId,
      scope,
      claim.key,
      claim.requestHash,
    ]);
    if (row?.created) return { kind: 'created', atCapacity: row.at_capacity ?? false };
    const [known] = await this.database.query<{ request_hash: Buffer; run_id: string; state: RunState }>(FIND_KEY, [
      scope,
      claim.key,
    ]);
    // The key was pruned between the two statements: the second try creates the run.
    if (!known && isFirstTry) return this.insertOnce(run, scope, claim, false);
    if (!known) throw new Error('An idempotency key is taken by a run that does not exist.');
    return known.request_hash.equals(claim.requestHash)
      ? { kind: 'replayed', runId: known.run_id, state: known.state }
      : { kind: 'key_reused' };
  }
}
