import { Injectable } from '@nestjs/common';
import { isUuid } from '#platform/kernel';
import { type Queryable, statement } from '#platform/persistence';
import { ACCEPTED_COLUMNS } from '../persistence/evaluations.store.js';
import type { AcceptedDelivery } from './delivery-evaluator.js';

const LIVE = statement('webhooks.find-live')`
  SELECT uid FROM webhooks WHERE factory_uid = $1 AND uid = ANY($2::text[]) AND deleted_at IS NULL`;

const HAS_SCHEME = statement('webhooks.has-scheme')`
  SELECT EXISTS (SELECT 1 FROM webhooks
   WHERE factory_uid = $1 AND signature_scheme = ANY($2::text[]) AND deleted_at IS NULL) AS found`;

const ACCEPTED = statement('webhooks.find-accepted')`
  SELECT ${ACCEPTED_COLUMNS}
  FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
 WHERE w.factory_uid = $1 AND w.deleted_at IS NULL AND d.id = $2 AND d.outcome = 'A' AND d.body IS NOT NULL`;

/** Lookups of webhooks and deliveries for other libraries, in their transactions. */
@Injectable()
export class WebhookDirectory {
  /** Those of `uids` that are webhooks of the factory and not deleted. One round trip. */
  async live(tx: Queryable, factoryUid: string, uids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await tx.query<{ uid: string }>(LIVE, [factoryUid, uids]);
    return new Set(rows.map(({ uid }) => uid));
  }

  /** Whether the factory has a webhook with one of the signature schemes. One round trip. */
  async hasScheme(tx: Queryable, factoryUid: string, schemes: readonly string[]): Promise<boolean> {
    const [row] = await tx.query<{ found: boolean }>(HAS_SCHEME, [factoryUid, schemes]);
    return row?.found === true;
  }

  /** An accepted delivery to a webhook of the factory, with its payload; null when there is none. One round trip. */
  async accepted(tx: Queryable, factoryUid: string, deliveryId: string): Promise<AcceptedDelivery | null> {
    if (!isUuid(deliveryId)) return null;
    const [delivery] = await tx.query<AcceptedDelivery>(ACCEPTED, [factoryUid, deliveryId]);
    return delivery ?? null;
  }
}
