import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';

/** What pruning takes out of the room's tables. The runs are locked. */
@Injectable()
export class RetentionDeletesStore {
  /** The folders of the object store in which the runs have something. */
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
