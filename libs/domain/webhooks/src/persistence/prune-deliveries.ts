import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Database, statement, writtenRow } from '#platform/persistence';

const WEBHOOKS_PER_BATCH = 200;
const ROWS_PER_BATCH = 1000;

/**
 * Processes the webhooks page by page. Ids start with their time, so that only old rows are read. The log of a deleted
 * webhook is not visible any longer: it is kept by age only. Deliveries that are not evaluated yet are kept.
 */
const PRUNE_LOGS = statement('webhooks.prune-logs')`
  WITH bounds AS MATERIALIZED (
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
SELECT (SELECT count(*) FROM pruned)::int AS pruned, (SELECT max(id) FROM page) AS last`;

/** Deletes expired deliveries, identities and webhooks in small batches. After an abort the next call continues. */
@Injectable()
export class PruneDeliveries {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  async execute(signal: AbortSignal) {
    const deliveries = await this.pruneLogs(signal);
    const identities = await repeat(signal, ROWS_PER_BATCH, async () => {
      const rows = await this.database.query(
        `DELETE FROM webhook_identities WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM webhook_identities WHERE accepted_at < headrace.now() - $1 * interval '1 millisecond' LIMIT $2))
         RETURNING 1`,
        [this.settings.webhookDedupWindow, ROWS_PER_BATCH],
      );
      return rows.length;
    });
    return { deliveries, identities, webhooks: await this.pruneWebhooks(signal) };
  }

  private async pruneLogs(signal: AbortSignal): Promise<number> {
    const { webhookLogMinEntries, webhookLogRetention } = this.settings;
    const limits = [WEBHOOKS_PER_BATCH, webhookLogMinEntries, webhookLogRetention, ROWS_PER_BATCH];
    let all = 0;
    for (let after: string | null = '0'; after !== null && !signal.aborted;) {
      const rows: { pruned: number; last: string | null }[] = await this.database.query(PRUNE_LOGS, [after, ...limits]);
      const { pruned, last } = writtenRow(rows);
      all += pruned;
      // A full batch may have omitted rows of these webhooks.
      if (pruned < ROWS_PER_BATCH) after = last;
    }
    return all;
  }

  /** Deleted webhooks are removed after their log, which refers to them. */
  private pruneWebhooks(signal: AbortSignal): Promise<number> {
    return repeat(signal, WEBHOOKS_PER_BATCH, async () => {
      const webhooks = await this.database.query<{ id: string }>(
        `SELECT w.id FROM webhooks w WHERE w.deleted_at < headrace.now() - $1 * interval '1 millisecond'
           AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id) LIMIT $2`,
        [this.settings.webhookLogRetention, WEBHOOKS_PER_BATCH],
      );
      const ids = webhooks.map(({ id }) => id);
      await repeat(signal, ROWS_PER_BATCH, async () => {
        const rows = await this.database.query(
          `DELETE FROM webhook_identities WHERE (webhook_id, key) IN (
             SELECT webhook_id, key FROM webhook_identities WHERE webhook_id = ANY($1::bigint[]) LIMIT $2) RETURNING 1`,
          [ids, ROWS_PER_BATCH],
        );
        return rows.length;
      });
      if (signal.aborted || ids.length === 0) return 0;
      await this.database.query(
        `WITH rates AS (DELETE FROM webhook_rates WHERE webhook_id = ANY($1::bigint[]))
         DELETE FROM webhooks WHERE id = ANY($1::bigint[]) AND deleted_at IS NOT NULL`,
        [ids],
      );
      return ids.length;
    });
  }
}

async function repeat(signal: AbortSignal, full: number, step: () => Promise<number>): Promise<number> {
  let all = 0;
  while (!signal.aborted) {
    const done = await step();
    all += done;
    if (done < full) break;
  }
  return all;
}
