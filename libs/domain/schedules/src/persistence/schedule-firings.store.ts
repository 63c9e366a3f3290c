import { Injectable } from '@nestjs/common';
import { Database, type Queryable, statement } from '#platform/persistence';

export type FiringRecord = { readonly uid: string; readonly dueAt: Date } & (
  | { readonly outcome: 'started'; readonly runId: string }
  /** Nothing had to be started: the previous run is not finished, or schedules are disabled. */
  | { readonly outcome: 'skipped'; readonly detail: string }
  /** No run can be started until the schedule, or what it refers to, is changed. */
  | { readonly outcome: 'refused'; readonly detail: string }
  /** Together with the following due times, up to this one. */
  | { readonly outcome: 'missed'; readonly missedThrough: Date }
);

/** Records firings, and updates their schedules. `$7`: consecutive refusals after which a schedule is paused. */
const RECORD = statement('schedules.record-firings')`
  WITH f AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::uuid[], $5::timestamptz[], $6::text[])
      AS f (uid, due_at, outcome, run_id, missed_through, detail)
  ), noted AS (
    INSERT INTO schedule_firings (schedule_uid, due_at, outcome, run_id, missed_through, detail) SELECT * FROM f ON CONFLICT DO NOTHING
  ), last AS (SELECT * FROM f WHERE outcome <> 'missed')
  UPDATE schedules s SET
    last_run_id = CASE WHEN last.outcome = 'started' THEN last.run_id ELSE s.last_run_id END,
    last_spawn_error = CASE WHEN last.outcome = 'started' THEN NULL ELSE last.detail END,
    failures = CASE last.outcome WHEN 'started' THEN 0 WHEN 'refused' THEN s.failures + 1 ELSE s.failures END,
    enabled = s.enabled AND NOT (last.outcome = 'refused' AND s.failures + 1 >= $7),
    paused_reason = CASE WHEN s.enabled AND last.outcome = 'refused' AND s.failures + 1 >= $7
      THEN 'Paused after ' || s.failures + 1 || ' due times in a row that could start no run: ' || last.detail ELSE s.paused_reason END
  FROM last WHERE s.uid = last.uid RETURNING s.uid, s.enabled`;
export const PRUNE_BATCH_SIZE = 10_000;
const PRUNE = statement('schedules.prune-firings')`
  DELETE FROM schedule_firings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM schedule_firings WHERE fired_at < headrace.now() - interval '30 days' LIMIT ${PRUNE_BATCH_SIZE})) RETURNING 1`;

@Injectable()
export class ScheduleFiringsStore {
  constructor(private readonly database: Database) {}

  /** At most one record per schedule besides a missed one. Returns the uids of schedules that were paused because of it. */
  async record(tx: Queryable, records: readonly FiringRecord[], pauseAfter: number): Promise<string[]> {
    if (records.length === 0) return [];
    const rows = await tx.query<{ uid: string; enabled: boolean }>(RECORD, [
      records.map(({ uid }) => uid),
      records.map(({ dueAt }) => dueAt),
      records.map(({ outcome }) => outcome),
      records.map((record) => (record.outcome === 'started' ? record.runId : null)),
      records.map((record) => (record.outcome === 'missed' ? record.missedThrough : null)),
      records.map((record) => ('detail' in record ? record.detail : null)),
      pauseAfter,
    ]);
    return rows.filter(({ enabled }) => !enabled).map(({ uid }) => uid);
  }

  /** Deletes records older than 30 days. Returns their number, at most {@link PRUNE_BATCH_SIZE}. */
  async prune(): Promise<number> {
    return (await this.database.query(PRUNE)).length;
  }
}
