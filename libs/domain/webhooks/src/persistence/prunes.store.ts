import { Injectable } from '@nestjs/common';
import { Database, type Statement } from '#platform/persistence';

export interface LogKeeping {
  /** The number of latest deliveries of a webhook that are kept, and of its latest accepted ones. */
  readonly keep: number;
  readonly olderThanMs: number;
}

/**
 * Processes the webhooks page by page. Ids start with their time, so that only old rows are read. The log of a deleted
 * webhook is not visible any longer: it is kept by age only. Deliveries that are not evaluated yet are kept.
 */
const PRUNE_LOGS: Statement = {
  name: 'webhooks.prune-logs',
  text: `WITH bounds AS MATERIALIZED (
  SELECT at, (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid AS id
    FROM (SELECT headrace.now() - $4 * interval '1 millisecond' AS at) AS time
), page AS MATERIALIZED (
  SELECT id, deleted_at IS NOT NULL AS is_deleted FROM webhooks WHERE id > $1 ORDER BY id LIMIT $2
), doomed AS MATERIALIZED (
  SELECT page.id AS webhook_id, old.id FROM page CROSS JOIN bounds
    LEFT JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE webhook_id = page.id
      ORDER BY id DESC OFFSET $3 - 1 LIMIT 1) latest ON true
    LEFT JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE webhook_id = page.id AND outcome = 'A' AND evaluated_at IS NOT NULL
      ORDER BY id DESC OFFSET $3 - 1 LIMIT 1) accepted ON true
    CROSS JOIN LATERAL (SELECT d.id FROM webhook_deliveries d
      WHERE d.webhook_id = page.id AND d.id < bounds.id AND d.received_at < bounds.at
        AND (page.is_deleted OR d.id < latest.id)
        AND (d.outcome <> 'A' OR d.evaluated_at IS NOT NULL AND (page.is_deleted OR d.id < accepted.id))
      ORDER BY d.id LIMIT $5) old
   LIMIT $5
), pruned AS (
  DELETE FROM webhook_deliveries d USING doomed WHERE d.webhook_id = doomed.webhook_id AND d.id = doomed.id RETURNING 1
)
SELECT (SELECT count(*) FROM pruned)::int AS pruned, (SELECT max(id) FROM page) AS last`,
};

@Injectable()
export class PrunesStore {
  constructor(private readonly database: Database) {}

  /** Deletes at most `limit` lines of the `webhooks` after `after`. `last`: the last webhook of the page; null without webhooks. */
  async pruneLogs(
    after: string,
    webhooks: number,
    { keep, olderThanMs }: LogKeeping,
    limit: number,
  ): Promise<{ pruned: number; last: string | null }> {
    const [row] = await this.database.query<{ pruned: number; last: string | null }>(PRUNE_LOGS, [
      after,
      webhooks,
      keep,
      olderThanMs,
      limit,
    ]);
    return row ?? { pruned: 0, last: null };
  }

  /** Deletes at most `limit` identities; returns how many. */
  async pruneIdentities(olderThanMs: number, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM webhook_identities WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM webhook_identities WHERE accepted_at < headrace.now() - $1 * interval '1 millisecond' LIMIT $2))
       RETURNING 1`,
      [olderThanMs, limit],
    );
    return rows.length;
  }

  /** Webhooks that were deleted longer ago than this and have no log any more. */
  async deletedWebhooks(olderThanMs: number, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT w.id FROM webhooks w WHERE w.deleted_at < headrace.now() - $1 * interval '1 millisecond'
         AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id) LIMIT $2`,
      [olderThanMs, limit],
    );
    return rows.map(({ id }) => id);
  }

  /** Deletes at most `limit` identities of these webhooks; returns how many. */
  async pruneIdentitiesOf(webhookIds: readonly string[], limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM webhook_identities WHERE (webhook_id, key) IN (
         SELECT webhook_id, key FROM webhook_identities WHERE webhook_id = ANY($1::bigint[]) LIMIT $2) RETURNING 1`,
      [webhookIds, limit],
    );
    return rows.length;
  }

  async pruneWebhooks(webhookIds: readonly string[]): Promise<void> {
    await this.database.query(
      `WITH rates AS (DELETE FROM webhook_rates WHERE webhook_id = ANY($1::bigint[]))
       DELETE FROM webhooks WHERE id = ANY($1::bigint[]) AND deleted_at IS NOT NULL`,
      [webhookIds],
    );
  }
}
