import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { type FactoryRefusal, refusalToManage } from '#domain/factories';
import { WebhookLookups } from '../persistence/webhook-lookups.js';
import type { StoredWebhook } from '../persistence/webhook-rows.js';

export type WebhookLookup = { readonly kind: 'found'; readonly webhook: StoredWebhook } | FactoryRefusal;

/** Webhooks through the permission to manage their factory. One round trip. Provided by `WebhookAccessModule`. */
@Injectable()
export class WebhookAccess {
  constructor(private readonly webhooks: WebhookLookups) {}

  async webhook(caller: Caller, factoryUid: string, webhookUid: string): Promise<WebhookLookup> {
    const webhook = await this.webhooks.find(factoryUid, webhookUid);
    if (!webhook) return { kind: 'unknown' };
    return refusalToManage(caller, webhook.teamUid) ?? { kind: 'found', webhook };
  }
}
