import { Injectable } from '@nestjs/common';
import type { DeliveryOutcome } from '../domain/delivery.js';
import type { LoggedDelivery } from '../domain/logged-delivery.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';

export type ReadDeliveryLogResult =
  { readonly kind: 'read'; readonly deliveries: readonly LoggedDelivery[] } | { readonly kind: 'unknown' };

/** The latest lines of a webhook's delivery log, newest first: for the command line, which may see everything. */
@Injectable()
export class ReadDeliveryLog {
  constructor(
    private readonly webhooks: WebhooksStore,
    private readonly deliveries: DeliveriesStore,
  ) {}

  /** `outcome`: null for all, handshakes too. */
  async execute(uid: string, outcome: DeliveryOutcome | null, limit: number): Promise<ReadDeliveryLogResult> {
    const found = await this.webhooks.findWithSecret(uid);
    if (!found) return { kind: 'unknown' };
    return { kind: 'read', deliveries: await this.deliveries.list(found.webhook.id, { outcome, before: null, limit }) };
  }
}
