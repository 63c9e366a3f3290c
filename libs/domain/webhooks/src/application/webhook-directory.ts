import { Injectable } from '@nestjs/common';
import { isUuid } from '#platform/kernel';
import type { Queryable, Statement } from '#platform/persistence';
import { type AcceptedDeliveryRow, toAcceptedDelivery } from '../persistence/evaluations.store.js';
import type { AcceptedDelivery } from './delivery-evaluator.js';

export interface KnownWebhook {
  readonly uid: string;
  readonly name: string;
}

const LIVE: Statement = {
  name: 'webhooks.find-live',
  text: `SELECT uid, name FROM webhooks WHERE factory_uid = $1 AND uid = ANY($2::text[]) AND deleted_at IS NULL`,
};

const ACCEPTED: Statement = {
  name: 'webhooks.find-accepted',
  text: `SELECT d.id, d.identity, d.received_at, d.body, d.headers, w.uid, w.name, w.factory_uid, w.team_uid
  FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
 WHERE w.factory_uid = $1 AND w.deleted_at IS NULL AND d.id = $2 AND d.outcome = 'A' AND d.body IS NOT NULL`,
};

/** Lookups of webhooks and deliveries for other libraries, in their transactions. */
@Injectable()
export class WebhookDirectory {
  /** By uid, those of `uids` that are webhooks of the factory and not deleted. One round trip. */
  async live(tx: Queryable, factoryUid: string, uids: readonly string[]): Promise<ReadonlyMap<string, KnownWebhook>> {
    const rows = await tx.query<{ uid: string; name: string }>(LIVE, [factoryUid, uids]);
    return new Map(rows.map((row) => [row.uid, row]));
  }

  /** An accepted delivery to a webhook of the factory, with its payload; null when there is none. One round trip. */
  async accepted(tx: Queryable, factoryUid: string, deliveryId: string): Promise<AcceptedDelivery | null> {
    if (!isUuid(deliveryId)) return null;
    const [row] = await tx.query<AcceptedDeliveryRow>(ACCEPTED, [factoryUid, deliveryId]);
    return row ? toAcceptedDelivery(row) : null;
  }
}
