import { Injectable } from '@nestjs/common';
import { type Caller, hasPermission, type Permission } from '#platform/auth';
import { Settings } from '#platform/config';
import { newUid, PageCursors } from '#platform/kernel';
import { Database, isBelowTeamLimit } from '#platform/persistence';
import { TargetRules } from '../adapters/target-rules.js';
import { newSecret, type StoredNotification } from '../domain/notification-delivery.js';
import {
  MAX_WEBHOOKS,
  type NotificationWebhook,
  type NotificationWebhookChanges,
  type NotificationWebhookFields,
  PREVIOUS_SECRET_MS,
  sortedEvents,
} from '../domain/notification-webhook.js';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { NotificationWebhooksStore } from '../persistence/notification-webhooks.store.js';
import { NotificationWebhookSecrets } from './notification-webhook-secrets.js';
import { DeliveryNudge } from './ports.js';

type Found = { readonly kind: 'found'; readonly webhook: NotificationWebhook };
type LookupFailure = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };
/** `rule` completes "`url` …". */
type BadUrl = { readonly kind: 'bad_url'; readonly rule: string };
type WithSecret<Kind> = { readonly kind: Kind; readonly webhook: NotificationWebhook; readonly secret: string };
interface DeliveriesPage {
  readonly kind: 'page';
  readonly webhook: NotificationWebhook;
  readonly deliveries: readonly StoredNotification[];
  readonly nextCursor: string | null;
}

export type NotificationWebhookFailure =
  | LookupFailure
  | BadUrl
  /** The caller belongs to several teams and has selected none. */
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | { readonly kind: 'test_pending' }
  | { readonly kind: 'bad_cursor' };
type Failure<Kind> = Extract<NotificationWebhookFailure, { readonly kind: Kind }>;

/** Notification webhooks, through the permission of the caller on their team. */
@Injectable()
export class NotificationWebhooksService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly store: NotificationWebhooksStore,
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly rules: TargetRules,
    private readonly secrets: NotificationWebhookSecrets,
    private readonly nudge: DeliveryNudge,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('notification delivery', settings);
  }

  /** Of the teams that the caller has selected, by name. */
  list({ teamUids }: Caller): Promise<NotificationWebhook[]> {
    return this.store.listFor(teamUids);
  }

  async get(
    caller: Caller,
    uid: string,
    permission: Permission = 'notifications:read',
  ): Promise<Found | LookupFailure> {
    const webhook = await this.store.find(uid);
    if (!webhook) return { kind: 'unknown' };
    return hasPermission(caller, webhook.teamUid, permission) ? { kind: 'found', webhook } : { kind: 'not_yours' };
  }

  /** The secret is returned only once. */
  async create(
    { teamUid }: Caller,
    fields: NotificationWebhookFields,
  ): Promise<WithSecret<'created'> | Failure<'team_needed' | 'limit_reached' | 'bad_url'>> {
    if (teamUid === null) return { kind: 'team_needed' };
    const target = this.rules.check(fields.url);
    if (target.kind === 'invalid') return { kind: 'bad_url', rule: target.rule };
    const [uid, secret] = [newUid(), newSecret()];
    return this.database.transaction(async (tx) => {
      if (!(await isBelowTeamLimit(tx, 'notification_webhooks', teamUid, MAX_WEBHOOKS)))
        return { kind: 'limit_reached' as const, limit: MAX_WEBHOOKS };
      const sealed = this.secrets.seal(uid, secret);
      const sorted = { ...fields, events: sortedEvents(fields.events) };
      const webhook = await this.store.insert(tx, uid, teamUid, sorted, sealed);
      return { kind: 'created' as const, webhook, secret };
    });
  }

  /** Pending messages are sent to the new URL; those of a webhook that is disabled are dropped. */
  async update(
    caller: Caller,
    uid: string,
    changes: NotificationWebhookChanges,
  ): Promise<{ readonly kind: 'updated'; readonly webhook: NotificationWebhook } | LookupFailure | BadUrl> {
    const lookup = await this.get(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    const target = changes.url === undefined ? null : this.rules.check(changes.url);
    if (target?.kind === 'invalid') return { kind: 'bad_url', rule: target.rule };
    return this.database.transaction(async (tx) => {
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'unknown' as const };
      const fields = { ...stored, ...changes, events: sortedEvents(changes.events ?? stored.events) };
      const resetsFailures = fields.url !== stored.url || (fields.enabled && !stored.enabled);
      const webhook = await this.store.update(tx, uid, fields, resetsFailures);
      if (!fields.enabled) await this.deliveries.dropPending(tx, uid);
      return { kind: 'updated' as const, webhook };
    });
  }

  /** Also deletes its deliveries. */
  async delete(caller: Caller, uid: string): Promise<{ readonly kind: 'deleted' } | LookupFailure> {
    const lookup = await this.get(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'unknown' };
  }

  /** For a day messages are signed with both secrets, so that receivers can change over. */
  async rotateSecret(caller: Caller, uid: string): Promise<WithSecret<'rotated'> | LookupFailure> {
    const lookup = await this.get(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    const secret = newSecret();
    const webhook = await this.store.replaceSecret(uid, this.secrets.seal(uid, secret), PREVIOUS_SECRET_MS);
    return webhook ? { kind: 'rotated', webhook, secret } : { kind: 'unknown' };
  }

  /** Queues a test message, also for a disabled webhook: one attempt, and one test at a time. */
  async test(
    caller: Caller,
    uid: string,
  ): Promise<
    { readonly kind: 'queued'; readonly delivery: StoredNotification } | LookupFailure | Failure<'test_pending'>
  > {
    const lookup = await this.get(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    const { name } = lookup.webhook;
    const delivery = await this.deliveries.insertTest(uid, { webhook_uid: uid, webhook_name: name });
    if (!delivery) return { kind: 'test_pending' };
    this.nudge.nudge();
    return { kind: 'queued', delivery };
  }

  /** Newest first. */
  async listDeliveries(
    caller: Caller,
    uid: string,
    limit: number,
    cursor: string | null,
  ): Promise<DeliveriesPage | LookupFailure | Failure<'bad_cursor'>> {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const position = this.cursors.decode(cursor, uid);
    if (position === null) return { kind: 'bad_cursor' };
    const before = position[0] === undefined ? null : String(position[0]);
    const rows = await this.deliveries.list(uid, before, limit + 1);
    const { items: deliveries, nextCursor } = this.cursors.page(rows, limit, uid, ({ id }) => [id]);
    return { kind: 'page', webhook: lookup.webhook, deliveries, nextCursor };
  }
}
