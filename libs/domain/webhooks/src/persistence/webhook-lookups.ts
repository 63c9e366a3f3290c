import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { type StoredWebhook, toWebhook, WEBHOOK_COLUMNS, type WebhookRow } from './webhook-rows.js';

@Injectable()
export class WebhookLookups {
  constructor(private readonly database: Database) {}

  /** Null for one that is deleted, or another factory's. */
  async find(factoryUid: string, uid: string): Promise<StoredWebhook | null> {
    const [row] = await this.database.query<WebhookRow>(
      `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE uid = $1 AND factory_uid = $2 AND deleted_at IS NULL`,
      [uid, factoryUid],
    );
    return row ? toWebhook(row) : null;
  }
}
