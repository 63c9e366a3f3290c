import { Injectable } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';

/**
 * How many webhooks a factory has. Whoever makes or deletes one takes this row before anything else, so that they come
 * one after the other and the limit is exact.
 */
@Injectable()
export class WebhookPlaces {
  /** False when all are taken. */
  async take(tx: Queryable, factoryUid: string, limit: number): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO webhook_counts AS c (factory_uid, webhooks) VALUES ($1, 1)
       ON CONFLICT (factory_uid) DO UPDATE SET webhooks = c.webhooks + 1 WHERE c.webhooks < $2 RETURNING 1`,
      [factoryUid, limit],
    );
    return rows.length > 0;
  }

  async lock(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query('SELECT 1 FROM webhook_counts WHERE factory_uid = $1 FOR UPDATE', [factoryUid]);
  }

  async giveBack(tx: Queryable, factoryUid: string): Promise<void> {
    await tx.query('UPDATE webhook_counts SET webhooks = webhooks - 1 WHERE factory_uid = $1', [factoryUid]);
  }
}
