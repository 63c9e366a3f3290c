import { Injectable } from '@nestjs/common';
import { ENDED_STATES } from '#execution/executions';
import type { Queryable } from '#platform/persistence';

export type RetentionKind = 'runs' | 'transcripts' | 'timelines';

/** Where a walk stands. Times are PostgreSQL's own text, because a Date would lose the microseconds. */
export interface WalkPosition {
  readonly slotKey: string;
  readonly updatedAt: string;
  readonly runId: string;
}

export interface RetentionWalk extends WalkPosition {
  readonly kind: RetentionKind;
  readonly upto: string;
  /** Null between two walks. */
  readonly until: string | null;
  readonly revisit: readonly string[];
}

export interface PrunableRun {
  readonly id: string;
  readonly transcriptKey: string | null;
}

/** BLOCKED counts as ended without a live execution, which {@link RetentionStore.lockPrunable} looks at. */
const PRUNABLE_STATES = [...ENDED_STATES, 'BLOCKED'];
/** Before every run id. */
export const FIRST_RUN_ID = '00000000-0000-0000-0000-000000000000';

/** Walks go over the index `ix_runs__updated`: owner by owner, and within an owner by the time of the last change. */
@Injectable()
export class RetentionStore {
  /** The walk, locked until the transaction ends; null when another process is at it. */
  async lock(tx: Queryable, kind: RetentionKind): Promise<RetentionWalk | null> {
    const [walk] = await tx.query<RetentionWalk>(
      `SELECT kind, upto::text, until::text, slot_key AS "slotKey", updated_at::text AS "updatedAt", run_id AS "runId", revisit
         FROM retention_walks WHERE kind = $1 FOR UPDATE SKIP LOCKED`,
      [kind],
    );
    return walk ?? null;
  }

  /** Starts the next walk, up to `keepMs` ago; null when nothing has become old enough since the last one. */
  async begin(tx: Queryable, { kind }: RetentionWalk, keepMs: number): Promise<RetentionWalk | null> {
    const begun = await tx.query(
      `UPDATE retention_walks w SET until = t.until, slot_key = '', updated_at = w.upto, run_id = $3::uuid
         FROM (SELECT headrace.now() - $2 * interval '1 millisecond' AS until) t
        WHERE w.kind = $1 AND t.until > w.upto RETURNING 1`,
      [kind, keepMs, FIRST_RUN_ID],
    );
    return begun.length === 0 ? null : this.lock(tx, kind);
  }

  async end(tx: Queryable, { kind }: RetentionWalk): Promise<void> {
    await tx.query(`UPDATE retention_walks SET upto = until, until = NULL WHERE kind = $1`, [kind]);
  }

  async setPosition(tx: Queryable, kind: RetentionKind, { slotKey, updatedAt, runId }: WalkPosition): Promise<void> {
    const sql = `UPDATE retention_walks SET slot_key = $2, updated_at = $3, run_id = $4 WHERE kind = $1`;
    await tx.query(sql, [kind, slotKey, updatedAt, runId]);
  }

  async setRevisit(tx: Queryable, kind: RetentionKind, runIds: readonly string[]): Promise<void> {
    await tx.query(`UPDATE retention_walks SET revisit = $2::uuid[] WHERE kind = $1`, [kind, runIds]);
  }

  /** The next runs of the owner that the walk is at, of any state. */
  async page(tx: Queryable, walk: RetentionWalk, limit: number) {
    return tx.query<{ id: string; updatedAt: string; isEnded: boolean }>(
      `SELECT id, updated_at::text AS "updatedAt", state = ANY($6) AS "isEnded" FROM runs
        WHERE slot_key = $1 AND (updated_at, id) > ($2::timestamptz, $3::uuid) AND updated_at <= $4::timestamptz
        ORDER BY runs.updated_at, id LIMIT $5`,
      [walk.slotKey, walk.updatedAt, walk.runId, walk.until, limit, PRUNABLE_STATES],
    );
  }

  /** The next owner with a run to look at. One probe of the index an owner, all of them in one statement. */
  async nextOwner(tx: Queryable, { slotKey, upto, until }: RetentionWalk): Promise<string | null> {
    const [row] = await tx.query<{ slot_key: string }>(
      `WITH RECURSIVE owners AS (
         (SELECT slot_key FROM runs WHERE slot_key > $1 ORDER BY slot_key LIMIT 1)
         UNION ALL
         SELECT (SELECT r.slot_key FROM runs r WHERE r.slot_key > o.slot_key ORDER BY r.slot_key LIMIT 1)
           FROM owners o WHERE o.slot_key IS NOT NULL
       )
       SELECT o.slot_key FROM owners o
        WHERE o.slot_key IS NOT NULL AND EXISTS (
          SELECT 1 FROM runs r
           WHERE r.slot_key = o.slot_key AND r.updated_at > $2::timestamptz AND r.updated_at <= $3::timestamptz)
        LIMIT 1`,
      [slotKey, upto, until],
    );
    return row?.slot_key ?? null;
  }

  async lockPrunable(tx: Queryable, runIds: readonly string[], until: string): Promise<PrunableRun[]> {
    return tx.query<PrunableRun>(
      `SELECT r.id, r.transcript->>'key' AS "transcriptKey" FROM runs r
        WHERE r.id = ANY($1::uuid[]) AND r.state = ANY($2) AND r.updated_at <= $3::timestamptz
          AND NOT EXISTS (SELECT 1 FROM executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
        ORDER BY r.id FOR UPDATE OF r SKIP LOCKED`,
      [runIds, PRUNABLE_STATES, until],
    );
  }

  async stillOld(tx: Queryable, runIds: readonly string[], until: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `SELECT id FROM runs WHERE id = ANY($1::uuid[]) AND updated_at <= $2::timestamptz AND state = ANY($3)`,
      [runIds, until, PRUNABLE_STATES],
    );
    return rows.map(({ id }) => id);
  }

  async foldersOf(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
    const rows = await tx.query<{ folder: string }>(
      `SELECT 'transcripts/' || id AS folder FROM runs WHERE id = ANY($1::uuid[]) AND transcript IS NOT NULL
       UNION SELECT 'artifacts/' || run_id FROM artifacts WHERE run_id = ANY($1::uuid[]) AND object_key IS NOT NULL
       UNION SELECT 'attachments/' || run_id FROM run_attachments WHERE run_id = ANY($1::uuid[])`,
      [runIds],
    );
    return rows.map(({ folder }) => folder);
  }

  /** Foreign keys take executions, heads, follow-ups, approvals, artifacts and attachments along. */
  async deleteRuns(tx: Queryable, runIds: readonly string[]): Promise<void> {
    await this.deleteLogs(tx, runIds);
    await tx.query(`DELETE FROM run_facets WHERE run_id = ANY($1::uuid[])`, [runIds]);
    await tx.query(`DELETE FROM runs WHERE id = ANY($1::uuid[])`, [runIds]);
  }

  /** Head rows stay: what a resumed run logs later counts on from where it was. Returns how many runs had a log. */
  async deleteLogs(tx: Queryable, runIds: readonly string[]): Promise<number> {
    const [counted] = await tx.query<{ runs: number }>(
      `WITH gone AS (DELETE FROM run_events WHERE run_id = ANY($1::uuid[]) RETURNING run_id)
       SELECT count(DISTINCT run_id)::int AS runs FROM gone`,
      [runIds],
    );
    return counted?.runs ?? 0;
  }

  async forgetTranscripts(tx: Queryable, runIds: readonly string[]): Promise<void> {
    await tx.query(`UPDATE runs SET transcript = NULL WHERE id = ANY($1::uuid[])`, [runIds]);
  }

  /** Keys that would point at runs which are about to go: those are at least as old as these keys have to live. */
  async deleteOldIdempotencyKeys(tx: Queryable, olderThanMs: number): Promise<void> {
    await tx.query(`DELETE FROM idempotency_keys WHERE created_at <= headrace.now() - $1 * interval '1 millisecond'`, [
      olderThanMs,
    ]);
  }
}
