import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import type { Delivery } from '../domain/delivery.js';
import { type NotificationWebhook, OLD_SECRET_MS } from '../domain/notification-webhook.js';
import { newSecret } from '../domain/signature.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import type { LookupRefusal } from './outcomes.js';
import { DeliveryNudge } from './ports.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { FindWebhooks } from './webhooks.js';

export type RotateSecretResult =
  { readonly kind: 'rotated'; readonly webhook: NotificationWebhook; readonly secret: string } | LookupRefusal;
export type TestWebhookResult =
  { readonly kind: 'queued'; readonly delivery: Delivery } | { readonly kind: 'test_pending' } | LookupRefusal;
export type ListDeliveriesResult =
  | {
      readonly kind: 'page';
      readonly deliveries: readonly Delivery[];
      readonly nextCursor: string | null;
      readonly webhook: NotificationWebhook;
    }
  | { readonly kind: 'bad_cursor' }
  | LookupRefusal;

/** Gives a webhook a new secret. For a day messages are signed with both, so that receivers can change over. */
@Injectable()
export class RotateSecret {
  constructor(
    private readonly find: FindWebhooks,
    private readonly store: WebhooksStore,
    private readonly secrets: WebhookSecrets,
  ) {}

  async execute(caller: Caller, uid: string): Promise<RotateSecretResult> {
    const lookup = await this.find.find(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    const secret = newSecret();
    const webhook = await this.store.replaceSecret(uid, this.secrets.seal(uid, secret), OLD_SECRET_MS);
    return webhook ? { kind: 'rotated', webhook, secret } : { kind: 'unknown' };
  }
}

/** Sends a message for trying out: one attempt, also to a webhook that is disabled. One at a time. */
@Injectable()
export class TestWebhook {
  constructor(
    private readonly find: FindWebhooks,
    private readonly deliveries: DeliveriesStore,
    private readonly nudge: DeliveryNudge,
  ) {}

  async execute(caller: Caller, uid: string): Promise<TestWebhookResult> {
    const lookup = await this.find.find(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    const { name } = lookup.webhook;
    const delivery = await this.deliveries.insertTest(uid, { webhook_uid: uid, webhook_name: name });
    if (!delivery) return { kind: 'test_pending' };
    this.nudge.nudge();
    return { kind: 'queued', delivery };
  }
}

/** What was sent to a webhook, newest first. */
@Injectable()
export class ListDeliveries {
  private readonly cursors: PageCursors;

  constructor(
    private readonly find: FindWebhooks,
    private readonly deliveries: DeliveriesStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('notification delivery', settings);
  }

  async execute(caller: Caller, uid: string, limit: number, cursor: string | null): Promise<ListDeliveriesResult> {
    const lookup = await this.find.find(caller, uid, 'notifications:read');
    if (lookup.kind !== 'found') return lookup;
    const place = this.cursors.decode(cursor, uid);
    if (place === null) return { kind: 'bad_cursor' };
    const before = place[0] === undefined ? null : String(place[0]);
    const rows = await this.deliveries.list(uid, before, limit + 1);
    const { items: deliveries, nextCursor } = this.cursors.page(rows, limit, uid, ({ id }) => [id]);
    return { kind: 'page', deliveries, nextCursor, webhook: lookup.webhook };
  }
}
