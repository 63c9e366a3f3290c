import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';

/**
 * One descent of the index that orders runs by skill (`ix_runs__agent`) for each owner and spec: ids are in the order of
 * creation, so the last one is the newest.
 */
const LAST_RUNS: Statement = {
  name: 'runs.last-of-skills',
  text: `SELECT s.spec, max(l.created_at) AS last
  FROM unnest($2::text[]) AS s (spec)
 CROSS JOIN unnest($1::text[]) AS o (slot_key)
 CROSS JOIN LATERAL (
   SELECT r.created_at FROM runs r
    WHERE r.slot_key = o.slot_key AND (left(r.skill_spec, 500) COLLATE "C") = left(s.spec, 500) AND r.skill_spec = s.spec
    ORDER BY (left(r.skill_spec, 500) COLLATE "C") DESC, r.id DESC LIMIT 1) l
 GROUP BY s.spec`,
};

@Injectable()
export class SkillRunsStore {
  constructor(private readonly database: Database) {}

  /** When a run of one of the owners last used each skill, by its full spec; those that none has used are left out. */
  async lastRuns(owners: readonly string[], specs: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const rows = await this.database.query<{ spec: string; last: Date }>(LAST_RUNS, [owners, specs]);
    return new Map(rows.map(({ spec, last }) => [spec, last]));
  }
}
