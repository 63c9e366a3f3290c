import { Injectable } from '@nestjs/common';
import { Database, type Queryable, type Statement } from '#platform/persistence';

/** What became of a due time. */
export type FiringRecord = { readonly uid: string; readonly dueAt: Date } & (
  | { readonly outcome: 'started'; readonly runId: string }
  /** Nothing was to be started: the run before goes on, or schedules are switched off. */
  | { readonly outcome: 'skipped'; readonly detail: string }
  /** No run can be had until somebody changes something. */
  | { readonly outcome: 'refused'; readonly detail: string }
  /** With all due times that follow, up to this one. */
  | { readonly outcome: 'missed'; readonly missedThrough: Date }
);

/**
 * Notes firings, and what follows for their schedules. `$7`: refusals in a row after which a schedule pauses itself.
 * Answers the schedules that were paused by that.
 */
const RECORD: Statement = {
  name: 'schedules.record-firings',
  text: `WITH f AS MATERIALIZED (
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
  FROM last WHERE s.uid = last.uid RETURNING s.uid, s.enabled`,
};
/** Schedules that exist no more have none either. */
const PRUNE: Statement = {
  name: 'schedules.prune-firings',
  text: `DELETE FROM schedule_firings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM schedule_firings WHERE fired_at < headrace.now() - interval '30 days' LIMIT 10000)) RETURNING 1`,
};

@Injectable()
export class ScheduleFiringsStore {
  constructor(private readonly database: Database) {}

  /** At most one record a schedule besides a missed one. Answers the uids of schedules that have paused themselves. */
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

  /** Forgets what happened more than 30 days ago. Returns how many records that were, at most 10,000. */
  async prune(): Promise<number> {
    return (await this.database.query(PRUNE)).length;
  }
}
