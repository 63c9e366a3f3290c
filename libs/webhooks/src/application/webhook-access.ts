import { Injectable } from '@nestjs/common';
import { type Caller, can, roleIn } from '#libs/auth';
import { type Factory, FindFactory } from '#libs/factories';
import { WebhookLookups } from '../persistence/webhook-lookups.js';
import type { StoredWebhook } from '../persistence/webhook-rows.js';

/** Another team's is `unknown` like one that never was; `forbidden` is for members whose role does not suffice. */
export type AccessRefusal = { readonly kind: 'unknown' } | { readonly kind: 'forbidden' };
export type FactoryLookup = { readonly kind: 'found'; readonly factory: Factory } | AccessRefusal;
export type WebhookLookup = { readonly kind: 'found'; readonly webhook: StoredWebhook } | AccessRefusal;

/** Everything of webhooks is for those who may manage the factory. Provided by `WebhookAccessModule`. */
@Injectable()
export class WebhookAccess {
  constructor(
    private readonly factories: FindFactory,
    private readonly webhooks: WebhookLookups,
  ) {}

  async factory(caller: Caller, factoryUid: string): Promise<FactoryLookup> {
    const factory = await this.factories.execute(factoryUid);
    if (!factory) return { kind: 'unknown' };
    return refusalOn(caller, factory.teamUid) ?? { kind: 'found', factory };
  }

  /** One round trip. */
  async webhook(caller: Caller, factoryUid: string, webhookUid: string): Promise<WebhookLookup> {
    const webhook = await this.webhooks.find(factoryUid, webhookUid);
    if (!webhook) return { kind: 'unknown' };
    return refusalOn(caller, webhook.teamUid) ?? { kind: 'found', webhook };
  }
}

function refusalOn({ principal }: Caller, teamUid: string): AccessRefusal | null {
  const role = roleIn(principal, teamUid);
  if (role === null) return { kind: 'unknown' };
  return can(role, 'factories:manage') ? null : { kind: 'forbidden' };
}
