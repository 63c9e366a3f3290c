import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { facetsOf } from './run-facets-sql.js';

/** The runs with an id behind `after`, up to and with `to`. */
export interface RunRange {
  readonly after: string;
  readonly to: string;
}

const IN_RANGE = 'r.id > $1 AND r.id <= $2';

/** What runs of an older version lack, found by their ids, which are in the order of creation. */
@Injectable()
export class FacetRepairsStore {
  /** Up to where everything was looked at, locked until the transaction ends; null when another process is at it. */
  async lock(tx: Queryable): Promise<string | null> {
    // As for lists: these tables are never read whole, whatever the planner expects of the newest ids.
    await tx.query(`SELECT set_config('enable_seqscan', 'off', true)`);
    const [row] = await tx.query<{ upto: string }>(`SELECT upto FROM facet_repairs FOR UPDATE SKIP LOCKED`);
    return row?.upto ?? null;
  }

  async setUpto(tx: Queryable, upto: string): Promise<void> {
    await tx.query(`UPDATE facet_repairs SET upto = $1 WHERE upto < $1`, [upto]);
  }

  /** The id of the last of the next `limit` runs behind `after`, and how many there are. */
  async next(tx: Queryable, after: string, limit: number): Promise<{ to: string | null; count: number }> {
    const [row] = await tx.query<{ to: string | null; count: number }>(
      `SELECT (array_agg(id ORDER BY id DESC))[1] AS to, count(*)::int AS count
         FROM (SELECT id FROM runs WHERE id > $1 ORDER BY id LIMIT $2) n`,
      [after, limit],
    );
    return row ?? { to: null, count: 0 };
  }

  /**
   * Ancestors of runs whose parent has been given its own: one generation. Returns the runs that it changed. A parent
   * that is gone is the only ancestor that is still known.
   */
  async setAncestors(tx: Queryable, { after, to }: RunRange): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `WITH wrong AS (
         SELECT r.id, right_ones.ids FROM runs r LEFT JOIN runs p ON p.id = r.parent_run_id
          CROSS JOIN LATERAL (SELECT coalesce(p.ancestor_run_ids, '{}') || r.parent_run_id AS ids) right_ones
          WHERE ${IN_RANGE} AND r.parent_run_id IS NOT NULL AND r.ancestor_run_ids <> right_ones.ids
            AND (p.id IS NOT NULL OR r.ancestor_run_ids = '{}') AND r.id <> ALL (right_ones.ids)
          ORDER BY r.id FOR NO KEY UPDATE OF r)
       UPDATE runs r SET ancestor_run_ids = wrong.ids FROM wrong WHERE r.id = wrong.id RETURNING r.id`,
      [after, to],
    );
    return rows.map(({ id }) => id);
  }

  /** Facets of runs that have none, and anew those of the `changed` runs. Returns how many runs that were. */
  async writeFacets(tx: Queryable, { after, to }: RunRange, changed: readonly string[]): Promise<number> {
    // The lock keeps a run from being pruned meanwhile: nothing else would take its facets along.
    const rows = await tx.query(
      `WITH lacking AS (
         SELECT r.* FROM runs r
          WHERE ${IN_RANGE} AND (r.id = ANY($3::uuid[])
             OR NOT EXISTS (SELECT 1 FROM run_facets f WHERE f.run_id = r.id AND f.run_id > $1 AND f.run_id <= $2))
          ORDER BY r.id FOR KEY SHARE OF r)
       INSERT INTO run_facets AS f (run_id, slot_key, tokens, search) SELECT ${facetsOf('lacking')} FROM lacking
       ON CONFLICT (run_id) DO UPDATE SET tokens = excluded.tokens WHERE f.run_id = ANY($3::uuid[]) RETURNING 1`,
      [after, to, changed],
    );
    return rows.length;
  }
}
