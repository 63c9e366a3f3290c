import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { FactoryRefusal } from '#domain/factories';
import { newUuid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { RedeliveriesStore } from '../persistence/redeliveries.store.js';
import { EvaluationNudge } from './ports.js';
import { WebhookAccess } from './webhook-access.js';

export type RedeliverResult =
  | { readonly kind: 'redelivered'; readonly deliveryId: string }
  | { readonly kind: 'unknown_delivery' }
  /** There is no payload to evaluate. */
  | { readonly kind: 'not_accepted' }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'limited'; readonly retryMs: number }
  | FactoryRefusal;

/** Of one webhook, and beside what its sender may deliver: trying things out must not cost the sender's deliveries. */
const LIMIT = 60;
const WINDOW_MS = 60_000;

/**
 * Has a stored delivery evaluated once more, as a new one. Not on a disabled webhook: disabling it means that nothing
 * of it starts runs.
 */
@Injectable()
export class RedeliverDelivery {
  constructor(
    private readonly access: WebhookAccess,
    private readonly database: Database,
    private readonly deliveries: DeliveriesStore,
    private readonly redeliveries: RedeliveriesStore,
    private readonly nudge: EvaluationNudge,
  ) {}

  async execute(caller: Caller, factoryUid: string, webhookUid: string, deliveryId: string): Promise<RedeliverResult> {
    const lookup = await this.access.webhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const { id: webhookId } = lookup.webhook;
    const outcome = await this.deliveries.outcomeOf(webhookId, deliveryId);
    if (outcome === 'unknown') return { kind: 'unknown_delivery' };
    if (outcome !== 'Accepted') return { kind: 'not_accepted' };
    const result = await this.repeat(webhookId, deliveryId);
    if (result.kind === 'redelivered') this.nudge.nudge();
    return result;
  }

  private repeat(webhookId: string, deliveryId: string): Promise<RedeliverResult> {
    return this.database.transaction(async (tx): Promise<RedeliverResult> => {
      const webhook = await this.redeliveries.lockWebhook(tx, webhookId);
      if (!webhook) return { kind: 'unknown' };
      if (!webhook.enabled) return { kind: 'disabled' };
      const retryMs = await this.redeliveries.waitFor(tx, webhookId, LIMIT, WINDOW_MS);
      if (retryMs > 0) return { kind: 'limited', retryMs };
      const id = newUuid();
      const isMade = await this.redeliveries.insert(tx, webhookId, id, deliveryId);
      return isMade ? { kind: 'redelivered', deliveryId: id } : { kind: 'unknown_delivery' };
    });
  }
}
