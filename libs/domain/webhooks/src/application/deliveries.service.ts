import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { type FactoryRejection, manageRejection } from '#domain/factories';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { newUuid, PageCursors } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import type { DeliveryOutcome } from '../domain/delivery.js';
import { type ManagedWebhook, notSupported } from '../domain/webhook.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { EVALUATE_DELIVERIES_TASK } from './webhook-tasks.js';

export interface ListDeliveriesQuery {
  /** Null: all, including handshakes. */
  readonly outcome: DeliveryOutcome | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/**
 * Redeliveries and test deliveries of a webhook in a minute, independent of the rate limit of its sender: they must not cost
 * the deliveries of the sender.
 */
export const MAX_REQUESTED_DELIVERIES = 60;
const REQUEST_WINDOW_MS = 60_000;

const DELIVERY_NOT_FOUND = { kind: 'delivery_not_found' } as const;

@Injectable()
export class DeliveriesService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly webhooks: WebhooksStore,
    private readonly deliveries: DeliveriesStore,
    private readonly tasks: BackgroundTasks,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('webhook delivery', settings);
  }

  async list(caller: Caller, factoryUid: string, webhookUid: string, { outcome, limit, cursor }: ListDeliveriesQuery) {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const query = { webhookUid, outcome };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'invalid_cursor' as const };
    const before = position[0] === undefined ? null : String(position[0]);
    const rows = await this.deliveries.list(lookup.webhook.id, outcome, limit + 1, before);
    return { kind: 'page' as const, ...this.cursors.page(rows, limit, query, ({ id }) => [id]) };
  }

  async get(caller: Caller, factoryUid: string, webhookUid: string, deliveryId: string) {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const found = await this.deliveries.find(lookup.webhook.id, deliveryId);
    return found ? { kind: 'found' as const, ...found } : DELIVERY_NOT_FOUND;
  }

  /** Rejected for a disabled webhook, because disabling it means that it starts no runs. */
  async redeliver(caller: Caller, factoryUid: string, webhookUid: string, deliveryId: string) {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const { id: webhookId } = lookup.webhook;
    const outcome = await this.deliveries.outcomeOf(webhookId, deliveryId);
    if (outcome === 'unknown') return DELIVERY_NOT_FOUND;
    if (outcome !== 'Accepted')
      return notSupported('Only accepted deliveries can be redelivered: of others no payload is stored.');
    return this.store(webhookId, (tx, id) => this.deliveries.insertRedelivery(tx, webhookId, id, deliveryId));
  }

  /** Stores a delivery that no sender has sent. The ingress and the authentication of the sender are not part of the test. */
  async test(
    caller: Caller,
    factoryUid: string,
    webhookUid: string,
    delivery: { readonly body: Buffer; readonly sourceIp: string },
  ) {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const { id: webhookId } = lookup.webhook;
    return this.store(webhookId, async (tx, id) => {
      await this.deliveries.insertTest(tx, webhookId, id, delivery);
      return true;
    });
  }

  /** `insert` returns whether there was something to store. */
  private async store(webhookId: string, insert: (tx: Queryable, id: string) => Promise<boolean>) {
    const result = await this.database.transaction(async (tx) => {
      const webhook = await this.deliveries.lockWebhook(tx, webhookId);
      if (!webhook) return { kind: 'not_found' as const };
      if (!webhook.enabled) return notSupported('The webhook is disabled. Enable it first.');
      const retryMs = await this.deliveries.requestWaitMs(tx, webhookId, MAX_REQUESTED_DELIVERIES, REQUEST_WINDOW_MS);
      if (retryMs > 0) return { kind: 'rate_limited' as const, retryMs };
      const id = newUuid();
      return (await insert(tx, id)) ? { kind: 'stored' as const, deliveryId: id } : DELIVERY_NOT_FOUND;
    });
    if (result.kind === 'stored') this.tasks.wake(EVALUATE_DELIVERIES_TASK);
    return result;
  }

  /** Through the permission to manage the factory. One round trip. */
  private async findWebhook(
    caller: Caller,
    factoryUid: string,
    webhookUid: string,
  ): Promise<{ readonly kind: 'found'; readonly webhook: ManagedWebhook } | FactoryRejection> {
    const webhook = await this.webhooks.find(factoryUid, webhookUid);
    if (!webhook) return { kind: 'not_found' };
    return manageRejection(caller, webhook.teamUid) ?? { kind: 'found', webhook };
  }
}
