import { Injectable, Logger } from '@nestjs/common';
import { Clock, uuidFloor } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { facetsOf } from '../persistence/run-inserts.js';

const IN_RANGE = 'r.id > $1 AND r.id <= $2';

const BATCH = 1000;
/** Runs younger than this are looked at again: ids are made before their rows are committed, and by several clocks. */
const SETTLED_AFTER_MS = 10 * 60_000;
const LONGEST_ROUND_MS = 60_000;

interface Step {
  readonly repaired: number;
  /** The last run looked at; null: there are no more, or another process is at it. */
  readonly last: string | null;
}

/**
 * Gives runs the facets and ancestors that they lack, because a process of an older version has created them: such
 * processes may run for a while after the tables were migrated. Goes through the runs once, by their ids.
 */
@Injectable()
export class RepairFacets {
  private readonly logger = new Logger(RepairFacets.name);

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** For a minute at most, and until `signal` is aborted; the next run continues. Returns how many runs were incomplete. */
  async run(signal?: AbortSignal): Promise<number> {
    const start = this.clock.now().getTime();
    const settled = uuidFloor(new Date(start - SETTLED_AFTER_MS));
    let step = await this.step(null, settled);
    let { repaired } = step;
    while (step.last !== null && signal?.aborted !== true && this.clock.now().getTime() - start < LONGEST_ROUND_MS) {
      step = await this.step(step.last, settled);
      repaired += step.repaired;
    }
    if (repaired > 0) this.logger.log(`${repaired} run(s) that an older version had created were completed.`);
    return repaired;
  }

  /** The next runs behind `after`, or, when that is null, behind where everything was looked at. */
  private async step(after: string | null, settled: string): Promise<Step> {
    return this.database.transaction(async (tx) => {
      // As for lists: these tables are never read whole, whatever the planner expects of the newest ids.
      await tx.query(`SELECT set_config('enable_seqscan', 'off', true)`);
      const [progress] = await tx.query<{ upto: string }>(`SELECT upto FROM facet_repairs FOR UPDATE SKIP LOCKED`);
      if (!progress) return { repaired: 0, last: null };
      const from = after ?? progress.upto;
      const [next] = await tx.query<{ to: string | null; count: number }>(
        `SELECT (array_agg(id ORDER BY id DESC))[1] AS to, count(*)::int AS count
           FROM (SELECT id FROM runs WHERE id > $1 ORDER BY id LIMIT $2) n`,
        [from, BATCH],
      );
      if (!next?.to) return { repaired: 0, last: null };
      const { to, count } = next;
      const changed: string[] = [];
      for (let generation = await this.setAncestors(tx, from, to); generation.length > 0;) {
        changed.push(...generation);
        generation = await this.setAncestors(tx, from, to);
      }
      const repaired = await this.writeFacets(tx, from, to, changed);
      await tx.query(`UPDATE facet_repairs SET upto = $1 WHERE upto < $1`, [to < settled ? to : settled]);
      return { repaired, last: count === BATCH ? to : null };
    });
  }

  /**
   * Ancestors of runs whose parent has been given its own: one generation. Returns the runs that it changed. A parent
   * that is gone is the only ancestor that is still known.
   */
  private async setAncestors(tx: Queryable, after: string, to: string): Promise<string[]> {
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

  /** Writes the facets of runs that have none, and again those of the `changed` runs. Returns how many runs that were. */
  private async writeFacets(tx: Queryable, after: string, to: string, changed: readonly string[]): Promise<number> {
    // The lock keeps a run from being pruned meanwhile: nothing else would take its facets along.
    const rows = await tx.query(
      `WITH lacking AS (
         SELECT r.* FROM runs r
          WHERE ${IN_RANGE} AND (r.id = ANY($3::uuid[])
             OR NOT EXISTS (SELECT 1 FROM run_facets f WHERE f.run_id = r.id AND f.run_id > $1 AND f.run_id <= $2
                 AND (NOT coalesce(r.metadata ? 'factory_uid', false)
                      OR headrace.run_token(r.slot_key, 'factory_only', 'true') = ANY(f.tokens))))
          ORDER BY r.id FOR KEY SHARE OF r)
       INSERT INTO run_facets AS f (run_id, slot_key, tokens, search) SELECT ${facetsOf('lacking')} FROM lacking
       ON CONFLICT (run_id) DO UPDATE SET tokens = excluded.tokens
         WHERE f.run_id = ANY($3::uuid[]) OR NOT f.tokens @> excluded.tokens RETURNING 1`,
      [after, to, changed],
    );
    return rows.length;
  }
}
