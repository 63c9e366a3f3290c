import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import type { FactoryRefusal } from '#domain/factories';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import type { DeliveryOutcome } from '../domain/delivery.js';
import type { LoggedDelivery } from '../domain/logged-delivery.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhookAccess } from './webhook-access.js';

export interface ListDeliveriesQuery {
  /** Null: all, handshakes too. */
  readonly outcome: DeliveryOutcome | null;
  readonly limit: number;
  readonly cursor: string | null;
}

export type ListDeliveriesResult =
  | { readonly kind: 'page'; readonly deliveries: readonly LoggedDelivery[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' }
  | FactoryRefusal;

/** One page of a webhook's delivery log, newest first. */
@Injectable()
export class ListDeliveries {
  private readonly cursors: PageCursors;

  constructor(
    private readonly access: WebhookAccess,
    private readonly deliveries: DeliveriesStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('webhook delivery', settings);
  }

  async execute(
    caller: Caller,
    factoryUid: string,
    webhookUid: string,
    { outcome, limit, cursor }: ListDeliveriesQuery,
  ): Promise<ListDeliveriesResult> {
    const lookup = await this.access.webhook(caller, factoryUid, webhookUid);
    if (lookup.kind !== 'found') return lookup;
    const query = { webhookUid, outcome };
    const place = this.cursors.decode(cursor, query);
    if (place === null) return { kind: 'bad_cursor' };
    const before = place[0] === undefined ? null : String(place[0]);
    const rows = await this.deliveries.list(lookup.webhook.id, { outcome, before, limit: limit + 1 });
    const { items: deliveries, nextCursor } = this.cursors.page(rows, limit, query, ({ id }) => [id]);
    return { kind: 'page', deliveries, nextCursor };
  }
}
