import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SkillRuns, type SkillRunSource } from '#domain/agents';
import type { Caller } from '#platform/auth';
import { Database, statement } from '#platform/persistence';
import { ownersOf } from './runs.service.js';

/**
 * One descent of the index that orders runs by skill (`ix_runs__agent`) for each owner and spec: ids are in the order of
 * creation, so the last one is the newest.
 */
const LAST_RUNS = statement('runs.last-of-skills')`SELECT s.spec, max(l.created_at) AS last
  FROM unnest($2::text[]) AS s (spec)
 CROSS JOIN unnest($1::text[]) AS o (slot_key)
 CROSS JOIN LATERAL (
   SELECT r.created_at FROM runs r
    WHERE r.slot_key = o.slot_key AND (left(r.skill_spec, 500) COLLATE "C") = left(s.spec, 500) AND r.skill_spec = s.spec
    ORDER BY (left(r.skill_spec, 500) COLLATE "C") DESC, r.id DESC LIMIT 1) l
 GROUP BY s.spec`;

/** Specs that one call looks up; further ones are reported as never used. */
const MAX_SPECS = 5000;

/** When skills were last used, by their full specs, among the runs that a list shows the caller; unused ones are left out. */
@Injectable()
export class LastSkillRuns implements SkillRunSource, OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly skillRuns: SkillRuns,
  ) {}

  onModuleInit(): void {
    this.skillRuns.register(this);
  }

  async lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const owners = ownersOf(caller);
    const specs = [...new Set(skillIds)].slice(0, MAX_SPECS);
    if (owners.length === 0 || specs.length === 0) return new Map();
    const rows = await this.database.query<{ spec: string; last: Date }>(LAST_RUNS, [owners, specs]);
    return new Map(rows.map(({ spec, last }) => [spec, last]));
  }
}
