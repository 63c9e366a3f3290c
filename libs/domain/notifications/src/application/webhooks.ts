import { Injectable } from '@nestjs/common';
import { type Caller, hasPermission, type Permission } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { Database } from '#platform/persistence';
import { TargetRules } from '../adapters/target-rules.js';
import {
  MAX_WEBHOOKS,
  type NotificationWebhook,
  sortedEvents,
  type WebhookChanges,
  type WebhookFields,
} from '../domain/notification-webhook.js';
import { newSecret } from '../domain/signature.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import type { BadUrl, LookupRefusal } from './outcomes.js';
import { WebhookSecrets } from './webhook-secrets.js';

export type WebhookLookup = { readonly kind: 'found'; readonly webhook: NotificationWebhook } | LookupRefusal;
export type CreateWebhookResult =
  | { readonly kind: 'created'; readonly webhook: NotificationWebhook; readonly secret: string }
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | BadUrl;
export type UpdateWebhookResult =
  { readonly kind: 'updated'; readonly webhook: NotificationWebhook } | LookupRefusal | BadUrl;
export type DeleteWebhookResult = { readonly kind: 'deleted' } | LookupRefusal;

@Injectable()
export class FindWebhooks {
  constructor(private readonly store: WebhooksStore) {}

  /** Through the caller's permission on the webhook's team. */
  async find(caller: Caller, uid: string, permission: Permission): Promise<WebhookLookup> {
    const webhook = await this.store.find(uid);
    if (!webhook) return { kind: 'unknown' };
    return hasPermission(caller, webhook.teamUid, permission) ? { kind: 'found', webhook } : { kind: 'not_yours' };
  }

  /** Those of the teams at hand, by name. */
  list({ teamUids }: Caller): Promise<NotificationWebhook[]> {
    return this.store.listFor(teamUids);
  }
}

/** Makes a webhook of the caller's team. Its secret is told this once. */
@Injectable()
export class CreateWebhook {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly rules: TargetRules,
    private readonly secrets: WebhookSecrets,
  ) {}

  async execute({ teamUid }: Caller, given: WebhookFields): Promise<CreateWebhookResult> {
    if (teamUid === null) return { kind: 'team_needed' };
    const ruling = this.rules.check(given.url);
    if ('wrong' in ruling) return { kind: 'bad_url', rule: ruling.wrong };
    const [uid, secret] = [newUid(), newSecret()];
    const fields = { ...given, events: sortedEvents(given.events) };
    return this.database.transaction(async (tx): Promise<CreateWebhookResult> => {
      if ((await this.store.countForInsert(tx, teamUid)) >= MAX_WEBHOOKS)
        return { kind: 'limit_reached', limit: MAX_WEBHOOKS };
      const webhook = await this.store.insert(tx, uid, teamUid, fields, this.secrets.seal(uid, secret));
      return { kind: 'created', webhook, secret };
    });
  }
}

/** Changes what is given. Messages that wait go to the new address; those of a webhook that is disabled go nowhere. */
@Injectable()
export class UpdateWebhook {
  constructor(
    private readonly database: Database,
    private readonly find: FindWebhooks,
    private readonly store: WebhooksStore,
    private readonly deliveries: DeliveriesStore,
    private readonly rules: TargetRules,
  ) {}

  async execute(caller: Caller, uid: string, given: WebhookChanges): Promise<UpdateWebhookResult> {
    const lookup = await this.find.find(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    if (given.url !== undefined) {
      const ruling = this.rules.check(given.url);
      if ('wrong' in ruling) return { kind: 'bad_url', rule: ruling.wrong };
    }
    return this.database.transaction(async (tx): Promise<UpdateWebhookResult> => {
      const stored = await this.store.lock(tx, uid);
      if (!stored) return { kind: 'unknown' };
      const fields = { ...stored, ...given, events: sortedEvents(given.events ?? stored.events) };
      const startsAnew = fields.url !== stored.url || (fields.enabled && !stored.enabled);
      const webhook = await this.store.update(tx, uid, fields, startsAnew);
      if (!fields.enabled) await this.deliveries.dropPending(tx, uid);
      return { kind: 'updated', webhook };
    });
  }
}

/** Deletes it with all of its deliveries. */
@Injectable()
export class DeleteWebhook {
  constructor(
    private readonly find: FindWebhooks,
    private readonly store: WebhooksStore,
  ) {}

  async execute(caller: Caller, uid: string): Promise<DeleteWebhookResult> {
    const lookup = await this.find.find(caller, uid, 'notifications:manage');
    if (lookup.kind !== 'found') return lookup;
    return { kind: (await this.store.delete(uid)) ? 'deleted' : 'unknown' };
  }
}
