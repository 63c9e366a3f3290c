import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { type FactoryRefusal, refusalToManage } from '#domain/factories';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import type { DeliveryOutcome, LoggedDelivery } from '../domain/delivery.js';
import type { ManagedWebhook } from '../domain/webhook.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';

export interface ListDeliveriesQuery {
  /** Null: all, including handshakes. */
  readonly outcome: DeliveryOutcome | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export type ListDeliveriesResult =
  | { readonly kind: 'page'; readonly deliveries: readonly LoggedDelivery[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' }
  | FactoryRefusal;

export type GetDeliveryResult =
  | { readonly kind: 'found'; readonly delivery: LoggedDelivery; readonly payload: Buffer | null }
  | { readonly kind: 'unknown_delivery' }
  | FactoryRefusal;

export type WebhookLookup = { readonly kind: 'found'; readonly webhook: ManagedWebhook } | FactoryRefusal;

/** The delivery logs of webhooks, for callers that may manage the factory. */
@Injectable()
export class DeliveriesService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly webhooks: WebhooksStore,
    private readonly deliveries: DeliveriesStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('webhook delivery', settings);
  }

  /** One page, newest first. */
  async list(
    caller: Caller,
    factoryUid: string,
    webhookUid: string,
    { outcome, limit, cursor }: ListDeliveriesQuery,
  ): Promise<ListDeliveriesResult> {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const query = { webhookUid, outcome };
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'bad_cursor' };
    const before = position[0] === undefined ? null : String(position[0]);
    const rows = await this.deliveries.list(lookup.webhook.id, { outcome, before, limit: limit + 1 });
    const { items: deliveries, nextCursor } = this.cursors.page(rows, limit, query, ({ id }) => [id]);
    return { kind: 'page', deliveries, nextCursor };
  }

  /** The newest deliveries of a webhook in any factory, for the command line. Null for an unknown webhook. */
  async listLatest(uid: string, outcome: DeliveryOutcome | null, limit: number): Promise<LoggedDelivery[] | null> {
    const found = await this.webhooks.findWithSecret(uid);
    return found && this.deliveries.list(found.webhook.id, { outcome, before: null, limit });
  }

  /** With the payload of an accepted delivery. */
  async get(caller: Caller, factoryUid: string, webhookUid: string, deliveryId: string): Promise<GetDeliveryResult> {
    const lookup = await this.findWebhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const found = await this.deliveries.find(lookup.webhook.id, deliveryId);
    return found ? { kind: 'found', ...found } : { kind: 'unknown_delivery' };
  }

  /** Through the permission to manage the factory. One round trip. */
  async findWebhook(caller: Caller, factoryUid: string, webhookUid: string): Promise<WebhookLookup> {
    const webhook = await this.webhooks.find(factoryUid, webhookUid);
    if (!webhook) return { kind: 'unknown' };
    return refusalToManage(caller, webhook.teamUid) ?? { kind: 'found', webhook };
  }
}
