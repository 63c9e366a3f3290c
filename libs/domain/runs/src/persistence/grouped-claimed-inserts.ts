import { Injectable } from '@nestjs/common';
import { Database, GroupedStatement, type Statement } from '#platform/persistence';
import type { NewRun } from './new-run.js';
import { AT_CAPACITY, INSERT_RUNS, newRunsFrom, toNewRunJson } from './run-insert-sql.js';

/** A key that stands for one run, whoever asks for it again. */
export interface RunClaim {
  readonly scope: string;
  readonly key: string;
  readonly requestHash: Buffer;
  /** Not a caller's key, but the name of what the run is started for. */
  readonly isLaunch: boolean;
}

export interface ClaimedRun {
  readonly run: NewRun;
  readonly claim: RunClaim;
}

/** Null: the key is taken already, and nothing was written. */
type Inserted = { readonly atCapacity: boolean } | null;

/** Keys are taken in one order everywhere, so that two groups with keys in common never wait for each other. */
export const INSERT_ONCE: Statement = {
  name: 'runs.create-group-once',
  text: `WITH t AS MATERIALIZED (SELECT headrace.now() AS at), asked AS MATERIALIZED (SELECT * FROM ${newRunsFrom('$1')}), k AS (
  INSERT INTO idempotency_keys (scope, key, request_hash, is_launch, run_id, created_at)
  SELECT c.scope, c.key, c.request_hash, c.is_launch, asked.id, t.at
    FROM unnest($2::text[], $3::text[], $4::bytea[], $5::boolean[]) WITH ORDINALITY AS c (scope, key, request_hash, is_launch, place)
    JOIN asked ON asked.ord = c.place - 1, t
   ORDER BY c.scope, c.key
  ON CONFLICT (scope, key) DO NOTHING RETURNING run_id
), n AS MATERIALIZED (SELECT asked.* FROM asked JOIN k ON k.run_id = asked.id), ${INSERT_RUNS}
SELECT n.ord, ${AT_CAPACITY} FROM n`,
};

export const insertOnceValues = (items: readonly ClaimedRun[]): unknown[] => [
  JSON.stringify(items.map(({ run }, ord) => toNewRunJson(run, ord))),
  items.map(({ claim }) => claim.scope),
  items.map(({ claim }) => claim.key),
  items.map(({ claim }) => claim.requestHash),
  items.map(({ claim }) => claim.isLaunch),
];

const LIMITS = { maxGroup: 64, maxInFlight: 2 };

/** Commits runs with keys together that are created at the same time. */
@Injectable()
export class GroupedClaimedInserts {
  private readonly groups: GroupedStatement<ClaimedRun, Inserted>;

  constructor(database: Database) {
    this.groups = new GroupedStatement<ClaimedRun, Inserted>(async (items) => {
      const rows = await database.query<{ ord: number; at_capacity: boolean | null }>(
        INSERT_ONCE,
        insertOnceValues(items),
      );
      const created = new Map(rows.map((row) => [row.ord, { atCapacity: row.at_capacity ?? false }]));
      return items.map((_, ord) => created.get(ord) ?? null);
    }, LIMITS);
  }

  insert(run: NewRun, claim: RunClaim): Promise<Inserted> {
    return this.groups.execute({ run, claim });
  }
}
