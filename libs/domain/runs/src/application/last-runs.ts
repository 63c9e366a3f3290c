import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { SkillRuns, type SkillRunSource } from '#domain/agents';
import { type LastRun, LastRuns, LastRunSource } from '#domain/environments';
import { slotKeys } from '#execution/executions';
import type { Caller } from '#platform/auth';
import { Database, statement } from '#platform/persistence';
import { RunLists, SEARCH_SETTINGS } from '../persistence/run-lists.js';
import { ownersOf, readableBy } from './runs.service.js';

type EnvironmentRun = LastRun & { readonly environmentUid: string };

/** Newest runs of each owner that are looked through for all environments at once. */
const WINDOW = 2000;

/**
 * `recent`: the newest runs of each owner, by `ix_runs__created`. For most owners these are all, and most environments in
 * use are among them. `older`: whatever an owner with more runs may have done in an environment before, by the tokens of
 * `run_facets`, and only where nothing newer is known. Ids are in the order of creation. Each owner is a separate value, so
 * that the planner knows how much is theirs. `OFFSET 0` keeps it from looking through all of their runs for each
 * environment, and ordering ids as text from walking through everybody's by the primary key.
 */
function latestStatement(owners: number): string {
  const newest = Array.from({ length: owners }, (_, index) => {
    const owner = `$${index + 2}::text`;
    return `(SELECT ${owner} AS slot_key, id, environment_id, created_at FROM runs WHERE slot_key = ${owner}
   ORDER BY created_at DESC, id DESC LIMIT ${WINDOW})`;
  });
  return `
WITH recent AS MATERIALIZED (${newest.join('\nUNION ALL\n')}),
floors AS MATERIALIZED (SELECT slot_key, min(created_at) AS floor FROM recent GROUP BY slot_key HAVING count(*) = ${WINDOW}),
newest AS MATERIALIZED (SELECT DISTINCT ON (environment_id) environment_id, id, created_at FROM recent
   WHERE environment_id = ANY($1::text[]) ORDER BY environment_id, created_at DESC, id DESC),
older AS MATERIALIZED (
  SELECT w.uid AS environment_id, x.id, x.created_at
    FROM unnest($1::text[]) w (uid) CROSS JOIN floors f LEFT JOIN newest n ON n.environment_id = w.uid
   CROSS JOIN LATERAL (
     SELECT r.id, r.created_at
       FROM (SELECT t.run_id, t.run_id::text COLLATE "C" AS place FROM run_facets t
              WHERE t.tokens @> ARRAY[headrace.run_token(f.slot_key, 'environment_id', w.uid)]
              ORDER BY place DESC OFFSET 0) t
      CROSS JOIN LATERAL (SELECT id, created_at FROM runs
                           WHERE id = t.run_id AND slot_key = f.slot_key AND environment_id = w.uid OFFSET 0) r
      ORDER BY t.place DESC LIMIT 1) x
   WHERE n.created_at IS NULL OR n.created_at < f.floor),
latest AS (SELECT DISTINCT ON (environment_id) environment_id, id
  FROM (SELECT * FROM newest UNION ALL SELECT * FROM older) u ORDER BY environment_id, created_at DESC, id DESC)
SELECT l.environment_id AS "environmentUid", r.id, r.title, r.state, r.created_at AS "createdAt", r.updated_at AS "updatedAt",
    r.started_at AS "startedAt"
  FROM latest l JOIN runs r ON r.id = l.id`;
}

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

/**
 * Finds the last run in each environment, and with each skill, among those that the caller may read: a guest learns nothing
 * of what others do in what was shared with them. It takes a turn of the searches; without one, or when it takes too
 * long, the environments are shown without their runs.
 */
@Injectable()
export class LastRunsOfCaller extends LastRunSource implements SkillRunSource, OnModuleInit {
  private readonly logger = new Logger(LastRunsOfCaller.name);

  constructor(
    private readonly lists: RunLists,
    private readonly database: Database,
    private readonly environmentRuns: LastRuns,
    private readonly skillRuns: SkillRuns,
  ) {
    super();
  }

  onModuleInit(): void {
    this.environmentRuns.register(this);
    this.skillRuns.register(this);
  }

  override async find(caller: Caller, environmentUids: readonly string[]): Promise<ReadonlyMap<string, LastRun>> {
    const owners = slotKeys(readableBy(caller));
    if (owners.length === 0) return new Map();
    const text = latestStatement(owners.length);
    const runs = await this.lists.limited(() =>
      this.lists.reading(SEARCH_SETTINGS, (tx) => tx.query<EnvironmentRun>(text, [environmentUids, ...owners])),
    );
    if (runs === 'too_slow')
      this.logger.warn(`The last runs in ${environmentUids.length} environments were not found in time.`);
    if (typeof runs === 'string') return new Map();
    return new Map(runs.map(({ environmentUid, ...run }) => [environmentUid, run]));
  }

  async lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const owners = ownersOf(caller);
    const specs = [...new Set(skillIds)].slice(0, MAX_SPECS);
    if (owners.length === 0 || specs.length === 0) return new Map();
    const rows = await this.database.query<{ spec: string; last: Date }>(LAST_RUNS, [owners, specs]);
    return new Map(rows.map(({ spec, last }) => [spec, last]));
  }
}
