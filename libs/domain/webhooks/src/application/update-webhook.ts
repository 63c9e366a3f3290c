import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { Database, type Queryable } from '#platform/persistence';
import { deliveryIdHeaderFault } from '../domain/delivery-id-header.js';
import type { ManagedWebhook } from '../domain/managed-webhook.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { invalid, type NotSupported, type UpdateWebhookResult } from './webhook-outcomes.js';

/** What is left out stays as it is. */
export interface WebhookChanges {
  readonly name?: string;
  readonly enabled?: boolean;
  /** Null: none any more. */
  readonly deliveryIdHeader?: string | null;
}

/** Changes a webhook. Deliveries see it from the commit on, on every instance. */
@Injectable()
export class UpdateWebhook {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly schemes: SignatureSchemes,
  ) {}

  async execute(factory: Factory, uid: string, changes: WebhookChanges): Promise<UpdateWebhookResult> {
    const { deliveryIdHeader: header } = changes;
    const fault = typeof header === 'string' ? deliveryIdHeaderFault(header, this.schemes) : null;
    if (fault !== null) return invalid('/delivery_id_header', fault);
    return this.database.transaction((tx) => this.change(tx, factory, uid, changes));
  }

  private async change(
    tx: Queryable,
    factory: Factory,
    uid: string,
    { name, enabled, deliveryIdHeader }: WebhookChanges,
  ): Promise<UpdateWebhookResult> {
    const webhook = await this.store.lock(tx, factory.uid, uid);
    if (!webhook) return { kind: 'unknown' };
    const refusal = this.refusal(webhook, name, enabled);
    if (refusal) return refusal;
    const updated = await this.store.update(tx, webhook.id, {
      name: name ?? webhook.name,
      enabled: enabled ?? webhook.enabled,
      mayEnable: enabled !== false,
      deliveryIdHeader:
        deliveryIdHeader === undefined ? webhook.deliveryIdHeader : (deliveryIdHeader?.toLowerCase() ?? null),
    });
    return { kind: 'updated', webhook: updated };
  }

  private refusal(webhook: ManagedWebhook, name?: string, enabled?: boolean): NotSupported | null {
    if (webhook.source === 'definition' && name !== undefined && name !== webhook.name) {
      return {
        kind: 'not_supported',
        reason: 'The name of a webhook from a definition is that of its file: rename it there.',
      };
    }
    if (enabled === true && !webhook.hasSecret && !webhook.secretPending) {
      return {
        kind: 'not_supported',
        reason: 'The webhook has no secret yet: supply the sender’s with rotate-secret, then it can be enabled.',
      };
    }
    return null;
  }
}
