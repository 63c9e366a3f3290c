import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { FactoryRefusal } from '#domain/factories';
import type { LoggedDelivery } from '../domain/logged-delivery.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhookAccess } from './webhook-access.js';

export type GetDeliveryResult =
  | { readonly kind: 'found'; readonly delivery: LoggedDelivery; readonly payload: Buffer | null }
  | { readonly kind: 'unknown_delivery' }
  | FactoryRefusal;

/** One line of a webhook's delivery log, with the payload of an accepted delivery. */
@Injectable()
export class GetDelivery {
  constructor(
    private readonly access: WebhookAccess,
    private readonly deliveries: DeliveriesStore,
  ) {}

  async execute(
    caller: Caller,
    factoryUid: string,
    webhookUid: string,
    deliveryId: string,
  ): Promise<GetDeliveryResult> {
    const lookup = await this.access.webhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const found = await this.deliveries.find(lookup.webhook.id, deliveryId);
    return found ? { kind: 'found', ...found } : { kind: 'unknown_delivery' };
  }
}
