import { Injectable } from '@nestjs/common';
import {
  type AgentConfig,
  ExecutionsStore,
  EXTERNAL_POOL,
  HOSTED_POOL,
  type PrincipalRef,
  type RunState,
  RunTransitions,
  SnapshotsStore,
} from '#execution/executions';
import { Database, GroupedStatement, type Queryable, statement, type Transaction } from '#platform/persistence';
import { keepDiscarded } from '#platform/storage';
import type { NewAttachment } from '../domain/attachment.js';
import type { SubmittedInput } from '../domain/submitted-input.js';
import type { RunExecutionLocation, RunMode, RunSchedule, RunSkill, RunSourceType } from '../domain/run.js';

interface Column<Value> {
  readonly sql: string;
  readonly accepts?: (value: Value) => void;
}
const column = <Value>(sql: string): Column<Value> => ({ sql });

/** A run that is about to be queued, as statements take it: one JSON object a run, its keys the columns of the table. */
const INPUT_COLUMNS = {
  id: column<string>('uuid'),
  team_uid: column<string | null>('text'),
  owner_user_uid: column<string | null>('text'),
  slot_key: column<string>('text'),
  pool: column<string>('text'),
  title: column<string>('text'),
  prompt: column<string>('text'),
  submitted_prompt: column<string | null>('text'),
  source: column<RunSourceType>('text'),
  execution_location: column<RunExecutionLocation>('text'),
  mode: column<RunMode>('text'),
  interactive: column<boolean>('boolean'),
  creator_type: column<PrincipalRef['type']>('text'),
  creator_uid: column<string>('text'),
  executor_type: column<PrincipalRef['type']>('text'),
  executor_uid: column<string>('text'),
  config: column<AgentConfig>('jsonb'),
  agent_skill: column<RunSkill | null>('jsonb'),
  metadata: column<Readonly<Record<string, string>> | null>('jsonb'),
  parent_run_id: column<string | null>('uuid'),
  ancestor_run_ids: column<readonly string[]>('uuid[]'),
  started_by_run: column<boolean>('boolean'),
  /** These three are of the run whose conversation the new one continues; the transcript is a copy. */
  conversation_id: column<string | null>('uuid'),
  session_id: column<string | null>('text'),
  transcript: column<object | null>('jsonb'),
  schedule: column<RunSchedule | null>('jsonb'),
  trigger_url: column<string | null>('text'),
  forked_from_run_id: column<string | null>('uuid'),
  forked_from_seq: column<number | null>('bigint'),
  rerun_of: column<string | null>('uuid'),
  submitted: column<SubmittedInput>('jsonb'),
  /** The `traceparent` of the span that creates the run; null: it is not traced. */
  trace_context: column<string | null>('text'),
};
type InputColumns = typeof INPUT_COLUMNS;

export type NewRun = {
  readonly [Name in keyof InputColumns]: InputColumns[Name] extends Column<infer Value> ? Value : never;
} & {
  readonly attachments: readonly NewAttachment[];
  /** The snapshot of another run with which the workspace begins. */
  readonly snapshot: { readonly runId: string; readonly snapshotId: string } | null;
};

/** The columns of `run_facets` for `row`, an alias with the columns of `runs`. Their purpose is explained in the README of this library. */
export const facetsOf = (row: string): string => `${row}.id, ${row}.slot_key,
  headrace.run_tokens(${row}.slot_key, ${row}.creator_uid, ${row}.executor_uid, ${row}.source, ${row}.execution_location, ${row}.config, ${row}.schedule, ${row}.metadata, ${row}.ancestor_run_ids)
    || coalesce((SELECT array_agg(headrace.run_token(${row}.slot_key, 'skill_spec', s)) FROM jsonb_array_elements_text(${row}.agent_skill->'specs') AS s), '{}')
    || CASE WHEN ${row}.rerun_of IS NULL THEN '{}'::bigint[] ELSE ARRAY[headrace.run_token(${row}.slot_key, 'rerun_of', ${row}.rerun_of::text)] END
    || CASE WHEN ${row}.forked_from_run_id IS NULL THEN '{}'::bigint[] ELSE ARRAY[headrace.run_token(${row}.slot_key, 'forked_from', ${row}.forked_from_run_id::text)] END,
  headrace.run_search_text(${row}.title, ${row}.prompt, ${row}.config->>'skill_spec')`;

const COLUMNS = Object.keys(INPUT_COLUMNS).join(', ');

/**
 * The CTEs that write runs with their first events: `state = 'QUEUED'` makes each row its own queue entry. Asks for a
 * CTE `n` of new runs ({@link NEW_RUNS}) and a row `t (at)`.
 */
const INSERT_RUNS = `r AS (
  INSERT INTO runs (${COLUMNS}, state, queued_at, created_at, updated_at)
  SELECT ${COLUMNS}, 'QUEUED', t.at, t.at, t.at FROM n, t
), e AS (
  INSERT INTO run_events (run_id, seq, kind, at, data)
  SELECT id, 1, 'run_created', t.at, jsonb_build_object('source', source, 'creator', jsonb_build_object('type', creator_type, 'uid', creator_uid)) FROM n, t
), f AS (
  INSERT INTO run_facets (run_id, slot_key, tokens, search) SELECT ${facetsOf('n')} FROM n
), a AS (
  INSERT INTO run_attachments (id, run_id, position, file_name, mime_type, size_bytes, object_key, created_at)
  SELECT x.id, n.id, x.position, x.file_name, x.mime_type, x.size_bytes, x.object_key, t.at FROM n CROSS JOIN t
   CROSS JOIN json_to_recordset(n.attachments) AS x (id uuid, position smallint, file_name text, mime_type text, size_bytes bigint, object_key text)
), o AS (
  ${keepDiscarded(`SELECT unnest(ARRAY['attachments/' || n.id || '/', 'transcripts/' || n.id || '/']) FROM n WHERE n.transcript IS NOT NULL OR json_array_length(n.attachments) > 0`)}
)`;

/** Where the objects lie that a new run brings along: its files, and its copy of the transcript that it continues from. */
export const objectFolders = (runId: string): string[] => [`attachments/${runId}`, `transcripts/${runId}`];

/** Whether the owner or the pool of a new run had no slot left; only hosted runs need one. A team's own limit wins. */
const AT_CAPACITY = `(SELECT bool_or(s.used >= CASE WHEN s.key = n.slot_key
    THEN coalesce((SELECT t.max_concurrent_runs FROM teams t WHERE t.uid = n.team_uid), s.capacity) ELSE s.capacity END) FROM slot_pools s WHERE n.pool = '${HOSTED_POOL}' AND s.key IN ('pool:' || n.pool, n.slot_key)) AS at_capacity`;

/** A FROM item of new runs out of the JSON array `$1`; `ord` counts them. */
const NEW_RUNS = `json_to_recordset($1::json) AS n (ord int, attachments json, ${Object.entries(INPUT_COLUMNS)
  .map(([name, { sql }]) => `${name} ${sql}`)
  .join(', ')})`;

const toJson = (runs: readonly NewRun[]): string =>
  JSON.stringify(runs.map(({ snapshot: _snapshot, ...run }, ord) => ({ ...run, ord })));

export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
}

export interface ScopedClaim extends IdempotencyClaim {
  readonly scope: string;
  /** The key names what the service has started the run for; it does not come from a caller. */
  readonly isLaunch: boolean;
}

type ClaimedRun = { readonly run: NewRun; readonly claim: ScopedClaim };

/** Null: the key is taken already, and nothing was written. */
type Inserted = { readonly atCapacity: boolean } | null;

/** Also the run that the same key has created before. */
export interface CreatedRun {
  readonly kind: 'created';
  readonly runId: string;
  readonly state: RunState;
  readonly atCapacity: boolean;
}
export type KeyedRun = CreatedRun | { readonly kind: 'key_reused' };

/** Runs and their first events in one statement and one round trip. `$1`: a JSON array, one object a run. */
const INSERT = statement('runs.create-group')`
  WITH t AS MATERIALIZED (SELECT headrace.now() AS at), n AS MATERIALIZED (SELECT * FROM ${NEW_RUNS}), ${INSERT_RUNS}
SELECT ${AT_CAPACITY} FROM n ORDER BY ord`;
/** Keys are taken in one order everywhere, so that two groups with keys in common never wait for each other. */
const INSERT_ONCE = statement('runs.create-group-once')`
  WITH t AS MATERIALIZED (SELECT headrace.now() AS at), asked AS MATERIALIZED (SELECT * FROM ${NEW_RUNS}), k AS (
  INSERT INTO idempotency_keys (scope, key, request_hash, is_launch, run_id, created_at)
  SELECT c.scope, c.key, c.request_hash, c.is_launch, asked.id, t.at
    FROM unnest($2::text[], $3::text[], $4::bytea[], $5::boolean[]) WITH ORDINALITY AS c (scope, key, request_hash, is_launch, place)
    JOIN asked ON asked.ord = c.place - 1, t
   ORDER BY c.scope, c.key
  ON CONFLICT (scope, key) DO NOTHING RETURNING run_id
), n AS MATERIALIZED (SELECT asked.* FROM asked JOIN k ON k.run_id = asked.id), ${INSERT_RUNS}
SELECT n.ord, ${AT_CAPACITY} FROM n`;
const insertOnceValues = (items: readonly ClaimedRun[]): unknown[] => [
  toJson(items.map(({ run }) => run)),
  items.map(({ claim }) => claim.scope),
  items.map(({ claim }) => claim.key),
  items.map(({ claim }) => claim.requestHash),
  items.map(({ claim }) => claim.isLaunch),
];

const FIRST_EXECUTION = statement('executions.first-of-run')`
  SELECT id FROM executions WHERE run_id = $1 ORDER BY id LIMIT 1`;

const FIND_KEY = statement('runs.find-idempotency-key')`
  SELECT k.request_hash, k.run_id, r.state FROM idempotency_keys k JOIN runs r ON r.id = k.run_id WHERE k.scope = $1 AND k.key = $2`;
const CLAIM = statement('runs.claim-idempotency-key')`
  INSERT INTO idempotency_keys (scope, key, request_hash, is_launch, run_id, created_at) VALUES ($1, $2, $3, $4, $5, headrace.now())
  ON CONFLICT (scope, key) DO NOTHING RETURNING 1`;
const LAUNCH_SCOPE = 'launch';
const FIND_LAUNCHED = statement('runs.find-launched')`
  SELECT key, run_id FROM idempotency_keys WHERE scope = $1 AND key = ANY($2::text[])`;

export const launchClaim = (key: string): ScopedClaim => ({
  scope: LAUNCH_SCOPE,
  key,
  requestHash: Buffer.alloc(0),
  isLaunch: true,
});

/** The snapshot of a fork was removed meanwhile. */
export class SnapshotGoneError extends Error {}

/** The second statement continues to create runs while one waits for a connection that does not answer. */
const GROUPS = { maxGroup: 64, maxInFlight: 2 };

/** Writes new runs. Those that are created at the same time are committed together, with and without keys apart. */
@Injectable()
export class RunInserts {
  private readonly groups: GroupedStatement<NewRun, Inserted>;
  private readonly claimedGroups: GroupedStatement<ClaimedRun, Inserted>;

  constructor(
    private readonly database: Database,
    private readonly transitions: RunTransitions,
    private readonly executions: ExecutionsStore,
    private readonly snapshots: SnapshotsStore,
  ) {
    this.groups = new GroupedStatement<NewRun, Inserted>(async (runs) => {
      const rows = await database.query<{ at_capacity: boolean | null }>(INSERT, [toJson(runs)]);
      return rows.map((row) => ({ atCapacity: row.at_capacity ?? false }));
    }, GROUPS);
    this.claimedGroups = new GroupedStatement<ClaimedRun, Inserted>(async (items) => {
      const rows = await database.query<{ ord: number; at_capacity: boolean | null }>(
        INSERT_ONCE,
        insertOnceValues(items),
      );
      const created = new Map(rows.map((row) => [row.ord, { atCapacity: row.at_capacity ?? false }]));
      return items.map((_, ord) => created.get(ord) ?? null);
    }, GROUPS);
  }

  /**
   * One round trip, shared with runs created at the same time; a repeated idempotency key costs a second one, and an external
   * run and a fork have a separate transaction. Rejects with SnapshotGoneError.
   */
  async insert(run: NewRun, claim: ScopedClaim | null): Promise<KeyedRun> {
    const isExternal = run.pool === EXTERNAL_POOL;
    // The second attempt creates the run when the key was pruned between the two statements of the first one.
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const inserted = await (isExternal || run.snapshot !== null
        ? this.insertAlone(run, claim)
        : claim
          ? this.claimedGroups.execute({ run, claim })
          : this.groups.execute(run));
      if (inserted) return { kind: 'created', runId: run.id, state: isExternal ? 'PENDING' : 'QUEUED', ...inserted };
      const known = claim && (await this.find(claim));
      if (known) return known;
    }
    throw new Error('An idempotency key is taken by a run that does not exist.');
  }

  /** A run that does not exist without further rows. */
  private insertAlone(run: NewRun, claim: ScopedClaim | null): Promise<Inserted> {
    return this.database.transaction((tx) => this.insertIn(tx, run, claim));
  }

  /** Within the transaction of the caller. Rejects with SnapshotGoneError. */
  async insertIn(tx: Transaction, run: NewRun, claim: ScopedClaim | null): Promise<Inserted> {
    const rows = claim
      ? await tx.query<{ at_capacity: boolean | null }>(INSERT_ONCE, insertOnceValues([{ run, claim }]))
      : await tx.query<{ at_capacity: boolean | null }>(INSERT, [toJson([run])]);
    const [row] = rows;
    if (!row) return null;
    if (run.snapshot !== null && !(await this.snapshots.adopt(tx, run.snapshot, run.id))) throw new SnapshotGoneError();
    if (run.pool !== EXTERNAL_POOL) return { atCapacity: row.at_capacity ?? false };
    await this.transitions.apply(tx, run.id, 'offer');
    await this.executions.offerExternal(tx, run.id, { type: run.creator_type, uid: run.creator_uid });
    return { atCapacity: false };
  }

  /** For a request that continues a run. False: the key was used before. */
  async claim(tx: Queryable, { scope, key, requestHash, isLaunch }: ScopedClaim, runId: string): Promise<boolean> {
    return (await tx.query(CLAIM, [scope, key, requestHash, isLaunch, runId])).length > 0;
  }

  async executionOf(runId: string): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(FIRST_EXECUTION, [runId]);
    if (!row) throw new Error(`The external run ${runId} has no execution.`);
    return row.id;
  }

  async findLaunched(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ key: string; run_id: string }>(FIND_LAUNCHED, [LAUNCH_SCOPE, keys]);
    return new Map(rows.map((row) => [row.key, row.run_id]));
  }

  async find({ scope, key, requestHash }: ScopedClaim, tx: Queryable = this.database): Promise<KeyedRun | null> {
    const [known] = await tx.query<{ request_hash: Buffer; run_id: string; state: RunState }>(FIND_KEY, [scope, key]);
    if (!known) return null;
    if (!known.request_hash.equals(requestHash)) return { kind: 'key_reused' };
    return { kind: 'created', runId: known.run_id, state: known.state, atCapacity: false };
  }
}
