import { Injectable } from '@nestjs/common';
import { type Caller, isAllowed } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks } from '#platform/jobs';
import { newUid, PageCursors, type RejectionOf } from '#platform/kernel';
import { Database, isBelowOwnerLimit } from '#platform/persistence';
import { SecretBox } from '#platform/secrets';
import { TargetRules } from '../adapters/target-rules.js';
import { formatOf, type NotificationFormat } from '../domain/formats/notification-format.js';
import { newSecret } from '../domain/notification-delivery.js';
import {
  MAX_WEBHOOKS,
  type NotificationWebhook,
  type NotificationWebhookFields,
  PREVIOUS_SECRET_MS,
  sortedEvents,
} from '../domain/notification-webhook.js';
import { NOTIFICATION_SECRET } from '../persistence/encrypted-columns.js';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { NotificationWebhooksStore } from '../persistence/notification-webhooks.store.js';
import { SEND_NOTIFICATIONS_TASK } from './notification-tasks.js';

type Found = { readonly kind: 'found'; readonly webhook: NotificationWebhook };

@Injectable()
export class NotificationWebhooksService {
  private readonly cursors: PageCursors;

  constructor(
    private readonly database: Database,
    private readonly store: NotificationWebhooksStore,
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly rules: TargetRules,
    private readonly box: SecretBox,
    private readonly tasks: BackgroundTasks,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('notification delivery', settings);
  }

  list({ teamUids }: Caller): Promise<NotificationWebhook[]> {
    return this.store.listFor(teamUids);
  }

  async get(caller: Caller, uid: string): Promise<Found | RejectionOf<'not_found' | 'forbidden'>> {
    const webhook = await this.store.find(uid);
    if (!webhook) return { kind: 'not_found' };
    const { teamUid } = webhook;
    return isAllowed(caller, { teamUid, userUid: null }) ? { kind: 'found', webhook } : { kind: 'forbidden' };
  }

  /** Without a format, the webhook has the one of the service at its URL. */
  async create(
    { teamUid }: Caller,
    fields: Omit<NotificationWebhookFields, 'format'> & { readonly format?: NotificationFormat },
  ) {
    if (teamUid === null) return { kind: 'team_required' as const };
    const target = this.rules.check(fields.url);
    if (target.kind === 'invalid') return target;
    const { format = formatOf(fields.url) } = fields;
    const invalid = decisionsIssue(format, fields.decisions, 'decisions');
    if (invalid) return invalid;
    const [uid, secret] = [newUid(), newSecret()];
    return this.database.transaction(async (tx) => {
      if (!(await isBelowOwnerLimit(tx, 'notification_webhooks', { teamUid, userUid: null }, MAX_WEBHOOKS)))
        return { kind: 'limit_reached' as const, limit: MAX_WEBHOOKS };
      const sealed = this.box.sealColumn(NOTIFICATION_SECRET, { uid }, secret);
      const sorted = { ...fields, format, events: sortedEvents(fields.events) };
      const webhook = await this.store.insert(tx, uid, teamUid, sorted, sealed);
      return { kind: 'created' as const, webhook, secret };
    });
  }

  /** Pending messages are sent to the new URL; those of a webhook that is disabled are dropped. */
  async update(caller: Caller, uid: string, changes: Partial<NotificationWebhookFields>) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const target = changes.url === undefined ? null : this.rules.check(changes.url);
    if (target?.kind === 'invalid') return target;
    return this.database.transaction(async (tx) => {
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'not_found' as const };
      const { name = stored.name, url = stored.url, format = stored.format, enabled = stored.enabled } = changes;
      const { filter = stored.filter, decisions = stored.decisions } = changes;
      const invalid = decisionsIssue(format, decisions, changes.decisions === true ? 'decisions' : 'format');
      if (invalid) return invalid;
      const fields = {
        name,
        url,
        format,
        enabled,
        filter,
        decisions,
        events: sortedEvents(changes.events ?? stored.events),
      };
      const resetsFailures = url !== stored.url || (enabled && !stored.enabled);
      const webhook = await this.store.update(tx, uid, fields, resetsFailures);
      if (!enabled) await this.deliveries.dropPending(tx, uid);
      return { kind: 'updated' as const, webhook };
    });
  }

  async delete(caller: Caller, uid: string) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? ('deleted' as const) : ('not_found' as const) };
  }

  /** For a day messages are signed with both secrets, so that receivers can change over. */
  async rotateSecret(caller: Caller, uid: string) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const secret = newSecret();
    const sealed = this.box.sealColumn(NOTIFICATION_SECRET, { uid }, secret);
    const webhook = await this.store.replaceSecret(uid, sealed, PREVIOUS_SECRET_MS);
    return webhook ? { kind: 'rotated' as const, webhook, secret } : { kind: 'not_found' as const };
  }

  /** Queues a test message, also for a disabled webhook: one attempt, and one test at a time. */
  async test(caller: Caller, uid: string) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const { name } = lookup.webhook;
    const delivery = await this.deliveries.insertTest(uid, { webhook_uid: uid, webhook_name: name });
    if (!delivery) return { kind: 'test_pending' as const };
    this.tasks.wake(SEND_NOTIFICATIONS_TASK);
    return { kind: 'queued' as const, delivery };
  }

  async listDeliveries(caller: Caller, uid: string, limit: number, cursor: string | null) {
    const lookup = await this.get(caller, uid);
    if (lookup.kind !== 'found') return lookup;
    const position = this.cursors.decode(cursor, uid);
    if (position === null) return { kind: 'invalid_cursor' as const };
    const before = position[0] === undefined ? null : String(position[0]);
    const rows = await this.deliveries.list(uid, before, limit + 1);
    const page = this.cursors.page(rows, limit, uid, ({ id }) => [id]);
    return { kind: 'page' as const, webhook: lookup.webhook, ...page };
  }
}

/** Only messages of chat services have buttons. `field`: the one that the request changes. */
function decisionsIssue(
  format: NotificationFormat,
  decisions: boolean,
  field: 'decisions' | 'format',
): RejectionOf<'invalid'> | null {
  if (!decisions || format !== 'json') return null;
  const detail =
    field === 'decisions' ? 'must be false with the format json' : 'must be slack, discord or teams with `decisions`';
  return { kind: 'invalid', issues: [{ pointer: `/${field}`, detail }] };
}
