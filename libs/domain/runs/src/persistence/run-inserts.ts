import { Injectable } from '@nestjs/common';
import { EXTERNAL_POOL, type RunState, RunTransitions } from '#execution/executions';
import { Settings } from '#platform/config';
import { Database, GroupedStatement, type Queryable, statement } from '#platform/persistence';
import { AT_CAPACITY, INSERT_RUNS, type NewRun, newRunsFrom, toNewRunJson } from './run-insert-sql.js';

export interface IdempotencyClaim {
  readonly key: string;
  readonly requestHash: Buffer;
}

/** A key that names one run within its scope. */
export interface ScopedClaim extends IdempotencyClaim {
  readonly scope: string;
  /** The key names what the service has started the run for; it does not come from a caller. */
  readonly isLaunch: boolean;
}

interface ClaimedRun {
  readonly run: NewRun;
  readonly claim: ScopedClaim;
}

/** Null: the key is taken already, and nothing was written. */
type Inserted = { readonly atCapacity: boolean } | null;

export type InsertResult =
  | { readonly kind: 'created'; readonly atCapacity: boolean }
  | { readonly kind: 'replayed'; readonly runId: string; readonly state: RunState }
  | { readonly kind: 'key_reused' };

/** Runs and their first events in one statement and one round trip. `$1`: a JSON array, one object a run. */
const INSERT = statement('runs.create-group')`
  WITH t AS MATERIALIZED (SELECT headrace.now() AS at), n AS MATERIALIZED (SELECT * FROM ${newRunsFrom('$1')}), ${INSERT_RUNS}
SELECT ${AT_CAPACITY} FROM n ORDER BY ord`;
/** Keys are taken in one order everywhere, so that two groups with keys in common never wait for each other. */
const INSERT_ONCE = statement('runs.create-group-once')`
  WITH t AS MATERIALIZED (SELECT headrace.now() AS at), asked AS MATERIALIZED (SELECT * FROM ${newRunsFrom('$1')}), k AS (
  INSERT INTO idempotency_keys (scope, key, request_hash, is_launch, run_id, created_at)
  SELECT c.scope, c.key, c.request_hash, c.is_launch, asked.id, t.at
    FROM unnest($2::text[], $3::text[], $4::bytea[], $5::boolean[]) WITH ORDINALITY AS c (scope, key, request_hash, is_launch, place)
    JOIN asked ON asked.ord = c.place - 1, t
   ORDER BY c.scope, c.key
  ON CONFLICT (scope, key) DO NOTHING RETURNING run_id
), n AS MATERIALIZED (SELECT asked.* FROM asked JOIN k ON k.run_id = asked.id), ${INSERT_RUNS}
SELECT n.ord, ${AT_CAPACITY} FROM n`;
const insertOnceValues = (items: readonly ClaimedRun[]): unknown[] => [
  JSON.stringify(items.map(({ run }, ord) => toNewRunJson(run, ord))),
  items.map(({ claim }) => claim.scope),
  items.map(({ claim }) => claim.key),
  items.map(({ claim }) => claim.requestHash),
  items.map(({ claim }) => claim.isLaunch),
];

/** The execution of an external run, offered to the caller's runner and to nobody else. */
const OFFER_EXTERNAL = statement('executions.offer-external')`
  INSERT INTO executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
  SELECT id, slot_key, pool, 'offered', '${EXTERNAL_POOL}', false,
    (coalesce((config->>'idle_timeout_minutes')::numeric, 10) * 60000)::int, headrace.now(), headrace.now() + $2 * interval '1 millisecond'
  FROM runs WHERE id = $1`;
const FIRST_EXECUTION = statement('executions.first-of-run')`
  SELECT id FROM executions WHERE run_id = $1 ORDER BY id LIMIT 1`;

const FIND_KEY = statement('runs.find-idempotency-key')`
  SELECT k.request_hash, k.run_id, r.state FROM idempotency_keys k JOIN runs r ON r.id = k.run_id WHERE k.scope = $1 AND k.key = $2`;
const LAUNCH_SCOPE = 'launch';
const FIND_LAUNCHED = statement('runs.find-launched')`
  SELECT key, run_id FROM idempotency_keys WHERE scope = $1 AND key = ANY($2::text[])`;

export const launchClaim = (key: string): ScopedClaim => ({
  scope: LAUNCH_SCOPE,
  key,
  requestHash: Buffer.alloc(0),
  isLaunch: true,
});

const GROUPS = { maxGroup: 64, maxInFlight: 2 };

/** Writes new runs. Those that are created at the same time are committed together, with and without keys apart. */
@Injectable()
export class RunInserts {
  private readonly groups: GroupedStatement<NewRun, boolean>;
  private readonly claimedGroups: GroupedStatement<ClaimedRun, Inserted>;

  constructor(
    private readonly database: Database,
    private readonly transitions: RunTransitions,
    private readonly settings: Settings,
  ) {
    this.groups = new GroupedStatement<NewRun, boolean>(async (runs) => {
      const rows = await database.query<{ at_capacity: boolean | null }>(INSERT, [
        JSON.stringify(runs.map((run, ord) => toNewRunJson(run, ord))),
      ]);
      return rows.map((row) => row.at_capacity ?? false);
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
   * run has a separate transaction.
   */
  async insert(run: NewRun, claim: ScopedClaim | null): Promise<InsertResult> {
    if (claim) return this.insertOnce(run, claim);
    if (run.pool === EXTERNAL_POOL) await this.insertExternal(run, null);
    else return { kind: 'created', atCapacity: await this.groups.execute(run) };
    return { kind: 'created', atCapacity: false };
  }

  private async insertOnce(run: NewRun, claim: ScopedClaim, isFirstTry = true): Promise<InsertResult> {
    const created =
      run.pool === EXTERNAL_POOL
        ? await this.insertExternal(run, claim)
        : await this.claimedGroups.execute({ run, claim });
    if (created) return { kind: 'created', atCapacity: created.atCapacity };
    const known = await this.find(claim);
    if (known) return known;
    // The key was pruned between the two statements: the second try creates the run.
    if (isFirstTry) return this.insertOnce(run, claim, false);
    throw new Error('An idempotency key is taken by a run that does not exist.');
  }

  /** Run and execution in one transaction. */
  private async insertExternal(run: NewRun, claim: ScopedClaim | null): Promise<Inserted> {
    return this.database.transaction(async (tx) => {
      if (!(await this.insertExternalRun(tx, run, claim))) return null;
      await this.transitions.apply(tx, run.id, 'offer');
      await tx.query(OFFER_EXTERNAL, [run.id, this.settings.claimDeadline]);
      return { atCapacity: false };
    });
  }

  private async insertExternalRun(tx: Queryable, run: NewRun, claim: ScopedClaim | null): Promise<boolean> {
    if (claim) return (await tx.query(INSERT_ONCE, insertOnceValues([{ run, claim }]))).length > 0;
    await tx.query(INSERT, [JSON.stringify([toNewRunJson(run, 0)])]);
    return true;
  }

  /** The execution that an external run was created with. One round trip. */
  async executionOf(runId: string): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(FIRST_EXECUTION, [runId]);
    if (!row) throw new Error(`The external run ${runId} has no execution.`);
    return row.id;
  }

  /** Runs under launch keys, by key. One round trip. */
  async findLaunched(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.database.query<{ key: string; run_id: string }>(FIND_LAUNCHED, [LAUNCH_SCOPE, keys]);
    return new Map(rows.map((row) => [row.key, row.run_id]));
  }

  /** The run that a key names already, or null. One round trip. */
  async find(claim: ScopedClaim): Promise<Exclude<InsertResult, { kind: 'created' }> | null> {
    const [known] = await this.database.query<{ request_hash: Buffer; run_id: string; state: RunState }>(FIND_KEY, [
      claim.scope,
      claim.key,
    ]);
    if (!known) return null;
    return known.request_hash.equals(claim.requestHash)
      ? { kind: 'replayed', runId: known.run_id, state: known.state }
      : { kind: 'key_reused' };
  }
}
