import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { FactoryRefusal } from '#domain/factories';
import { newUuid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { DeliveriesService } from './deliveries.service.js';
import { EvaluationNudge } from './delivery-evaluator.js';

export type RedeliverResult =
  | { readonly kind: 'redelivered'; readonly deliveryId: string }
  | { readonly kind: 'unknown_delivery' }
  /** There is no payload to evaluate. */
  | { readonly kind: 'not_accepted' }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'limited'; readonly retryMs: number }
  | FactoryRefusal;

/** For each webhook, and independent of the rate limit of its sender: tests must not cost the deliveries of the sender. */
const LIMIT = 60;
const WINDOW_MS = 60_000;

/**
 * Has a stored delivery evaluated again, as a new delivery. Rejected for a disabled webhook, because disabling it means
 * that it starts no runs.
 */
@Injectable()
export class RedeliverDelivery {
  constructor(
    private readonly service: DeliveriesService,
    private readonly database: Database,
    private readonly deliveries: DeliveriesStore,
    private readonly nudge: EvaluationNudge,
  ) {}

  async execute(caller: Caller, factoryUid: string, webhookUid: string, deliveryId: string): Promise<RedeliverResult> {
    const lookup = await this.service.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const { id: webhookId } = lookup.webhook;
    const outcome = await this.deliveries.outcomeOf(webhookId, deliveryId);
    if (outcome === 'unknown') return { kind: 'unknown_delivery' };
    if (outcome !== 'Accepted') return { kind: 'not_accepted' };
    const result = await this.database.transaction(async (tx): Promise<RedeliverResult> => {
      const webhook = await this.deliveries.lockWebhook(tx, webhookId);
      if (!webhook) return { kind: 'unknown' };
      if (!webhook.enabled) return { kind: 'disabled' };
      const retryMs = await this.deliveries.redeliveryWaitMs(tx, webhookId, LIMIT, WINDOW_MS);
      if (retryMs > 0) return { kind: 'limited', retryMs };
      const id = newUuid();
      const isInserted = await this.deliveries.insertRedelivery(tx, webhookId, id, deliveryId);
      return isInserted ? { kind: 'redelivered', deliveryId: id } : { kind: 'unknown_delivery' };
    });
    if (result.kind === 'redelivered') this.nudge.nudge();
    return result;
  }
}
