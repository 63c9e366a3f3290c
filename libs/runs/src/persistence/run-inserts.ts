import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#libs/persistence';
import type { RunState } from '../domain/run-state.js';
import { type AgentConfig, type PrincipalRef, type RunExecutionLocation, type RunMode, type RunOwner, type RunSourceType, slotKey } from '../domain/run.js';

export interface NewRun {
  readonly id: string;
  readonly owner: RunOwner;
  readonly pool: string;
  readonly title: string;
  readonly prompt: string;
  readonly source: RunSourceType;
  readonly executionLocation: RunExecutionLocation;
  readonly mode: RunMode;
  readonly interactive: boolean;
  readonly creator: PrincipalRef;
  readonly executor: PrincipalRef;
  readonly config: AgentConfig;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly parentRunId: string | null;
  readonly conversationId: string | null;
}

export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
}

const RUN_AND_EVENT = (source: string): string => `
r AS (
  INSERT INTO runs (id, team_uid, owner_user_uid, slot_key, pool, state, title, prompt, source, execution_location, mode, interactive,
    creator_type, creator_uid, executor_type, executor_uid, config, metadata, parent_run_id, conversation_id, queued_at, created_at, updated_at)
  SELECT $1::uuid, $2, $3, $4, $5, 'QUEUED', $6, $7, $8, $9, $10, $11::boolean, $12, $13, $14, $15, $16::jsonb, $17::jsonb, $18::uuid, $19::uuid,
    t.at, t.at, t.at FROM ${source}
  RETURNING id
), e AS (
  INSERT INTO run_events (run_id, seq, kind, at, data)
  SELECT $1::uuid, 1, 'run_created', t.at, jsonb_build_object('source', $8, 'creator', jsonb_build_object('type', $12, 'uid', $13)) FROM ${source}
)`;

const CAPACITY = `(SELECT bool_or(s.used >= s.capacity) FROM slot_pools s WHERE s.key = 'pool:' || $5 OR s.key = $4) AS at_capacity`;
const NOW = 't AS MATERIALIZED (SELECT headrace.now() AS at)';

/** Run and first event in one statement and one round trip; `state = 'QUEUED'` makes the row its own queue entry. */
const INSERT: Statement = { name: 'runs.create', text: `WITH ${NOW}, ${RUN_AND_EVENT('t')} SELECT ${CAPACITY}, true AS created FROM t` };

/** The same, guarded by an idempotency key: nothing is written when the key is taken. */
const INSERT_ONCE: Statement = {
  name: 'runs.create-once',
  text: `WITH ${NOW}, k AS (
  INSERT INTO idempotency_keys (scope, key, request_hash, run_id, created_at) SELECT $20, $21, $22, $1::uuid, t.at FROM t
  ON CONFLICT (scope, key) DO NOTHING RETURNING run_id
), ${RUN_AND_EVENT('t, k')} SELECT ${CAPACITY}, EXISTS (SELECT 1 FROM k) AS created FROM t`,
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
  constructor(private readonly database: Database) {}

  /** One round trip; a duplicate idempotency key costs a second one. */
  async insert(run: NewRun, scope: string, claim: IdempotencyClaim | null): Promise<InsertResult> {
    const values = [
      run.id, run.owner.teamUid, run.owner.userUid, slotKey(run.owner), run.pool, run.title, run.prompt, run.source, run.executionLocation,
      run.mode, run.interactive, run.creator.type, run.creator.uid, run.executor.type, run.executor.uid, JSON.stringify(run.config),
      run.metadata === null ? null : JSON.stringify(run.metadata), run.parentRunId, run.conversationId,
    ];
    const [row] = await this.database.query<{ at_capacity: boolean | null; created: boolean }>(
      claim ? INSERT_ONCE : INSERT,
      claim ? [...values, scope, claim.key, claim.requestHash] : values,
    );
    if (row?.created) return { kind: 'created', atCapacity: row.at_capacity ?? false };
    if (!claim) throw new Error('The insert of a run returned no row.');
    const [known] = await this.database.query<{ request_hash: Buffer; run_id: string; state: RunState }>(FIND_KEY, [scope, claim.key]);
    // The key was pruned between the two statements: the caller's retry creates the run.
    if (!known) return this.insert(run, scope, claim);
    return known.request_hash.equals(claim.requestHash) ? { kind: 'replayed', runId: known.run_id, state: known.state } : { kind: 'key_reused' };
  }
}
