import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';

@Injectable()
export class RedeliveriesStore {
  /** Lets one redelivery of a webhook be decided at a time; deliveries of its sender do not wait. Null when it is gone. */
  async lockWebhook(tx: Queryable, webhookId: string): Promise<{ enabled: boolean } | null> {
    const [row] = await tx.query<{ enabled: boolean }>(
      'SELECT enabled FROM webhooks WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
      [webhookId],
    );
    return row ?? null;
  }

  /** Milliseconds until fewer than `limit` were made within `windowMs`; 0 when that is so now. */
  async waitFor(tx: Queryable, webhookId: string, limit: number, windowMs: number): Promise<number> {
    const [row] = await tx.query<{ wait_ms: number }>(
      `SELECT extract(epoch FROM received_at + $3 * interval '1 millisecond' - headrace.now())::float8 * 1000 AS wait_ms
         FROM webhook_deliveries WHERE webhook_id = $1 AND redelivery_of IS NOT NULL
        ORDER BY id DESC OFFSET $2 - 1 LIMIT 1`,
      [webhookId, limit, windowMs],
    );
    return Math.max(0, row?.wait_ms ?? 0);
  }

  /** False when there is no such accepted delivery. */
  async insert(tx: Queryable, webhookId: string, id: string, repeated: string): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, redelivery_of, size_bytes,
         received_at, source_ip, headers, body)
       SELECT webhook_id, $2::uuid, 'A', 'redelivery', $2::uuid::text, id, size_bytes, headrace.now(), source_ip, headers, body
         FROM webhook_deliveries WHERE webhook_id = $1 AND id = $3 AND outcome = 'A' RETURNING 1`,
      [webhookId, id, repeated],
    );
    return rows.length > 0;
  }
}
