import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { newUid } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import type { DefinedWebhook, WebhookSettingIssue, WebhookSettings } from '../domain/defined-webhook.js';
import { MAX_WEBHOOKS_PER_FACTORY } from '../domain/webhook.js';
import { DefinedWebhooksStore } from '../persistence/defined-webhooks.store.js';
import { WebhookPlaces } from '../persistence/webhook-places.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { DefinedWebhookRules } from './defined-webhook-rules.js';
import { WebhookSecrets } from './webhook-secrets.js';

export type CreateDefinedWebhookResult =
  { readonly kind: 'created'; readonly uid: string } | { readonly kind: 'limit_reached'; readonly limit: number };

/**
 * Webhooks that files define, for the room of the definitions: within its transaction, without asking who is allowed to.
 * An apply calls `hold`, `list` and `validate` in this order, and makes no changes when there are issues; deletions before
 * creations, so that what goes makes room for what comes.
 */
@Injectable()
export class DefinedWebhooks {
  constructor(
    private readonly store: DefinedWebhooksStore,
    private readonly webhooks: WebhooksStore,
    private readonly places: WebhookPlaces,
    private readonly managed: ManagedSecrets,
    private readonly secrets: WebhookSecrets,
    private readonly rules: DefinedWebhookRules,
  ) {}

  /**
   * From now on nobody else deletes a webhook of the factory, or changes one from a definition, until the
   * transaction ends. Not needed just to look. Secrets come after these webhooks: of those whose webhooks follow them, none
   * is from a definition.
   */
  async hold(tx: Queryable, factory: Factory): Promise<void> {
    await this.places.lock(tx, factory.uid);
    await this.store.lockAll(tx, factory.uid);
  }

  /** Of both sources, by name. */
  async list(tx: Queryable, { uid, teamUid }: Factory): Promise<DefinedWebhook[]> {
    const found = await this.store.list(tx, uid);
    const names = [...new Set(found.map(({ secretName }) => secretName))];
    const versions = await this.managed.versions(tx, teamUid, names);
    return found.map((webhook) => ({
      uid: webhook.uid,
      name: webhook.name,
      authMode: webhook.authMode,
      signatureScheme: webhook.signatureScheme,
      secretName: webhook.secretName,
      deliveryIdHeader: webhook.deliveryIdHeader,
      enabled: webhook.enabled,
      source: webhook.source,
      secretVersion: webhook.secretVersion,
      managedSecretVersion: versions.get(webhook.secretName) ?? null,
    }));
  }

  /** What is wrong with each. Nobody changes or deletes a secret that one names until the transaction ends. */
  validate(
    tx: Queryable,
    factory: Factory,
    specs: readonly WebhookSettings[],
  ): Promise<readonly (readonly WebhookSettingIssue[])[]> {
    return this.rules.issues(tx, factory.teamUid, specs);
  }

  async create(
    tx: Queryable,
    { uid: factoryUid, teamUid }: Factory,
    spec: WebhookSettings,
  ): Promise<CreateDefinedWebhookResult> {
    if (!(await this.places.take(tx, factoryUid, MAX_WEBHOOKS_PER_FACTORY)))
      return { kind: 'limit_reached', limit: MAX_WEBHOOKS_PER_FACTORY };
    const uid = newUid();
    const fields = { ...spec, ...header(spec), copy: await this.copyOf(tx, teamUid, uid, spec) };
    await this.webhooks.insert(tx, {
      ...fields,
      uid,
      factoryUid,
      teamUid,
      enablesWithSecret: false,
      source: 'definition',
      secretOwned: false,
      secretPending: false,
    });
    return { kind: 'created', uid };
  }

  /** Takes the present value of the managed secret; senders see the webhook as it is then from the commit on. */
  async replace(
    tx: Queryable,
    { uid: factoryUid, teamUid }: Factory,
    uid: string,
    spec: WebhookSettings,
  ): Promise<void> {
    // Secret before webhook, as everybody does who takes both.
    const copy = await this.copyOf(tx, teamUid, uid, spec);
    const found = await this.store.lock(tx, factoryUid, uid);
    if (!found) throw new Error(`Factory ${factoryUid} has no webhook ${uid} from a definition.`);
    await this.store.replace(tx, found.id, { ...spec, ...header(spec), copy });
  }

  /** Its log stays until it has expired, and so does the managed secret: it is not the webhook's own. */
  async remove(tx: Queryable, factory: Factory, uid: string): Promise<void> {
    await this.places.lock(tx, factory.uid);
    if (!(await this.store.lock(tx, factory.uid, uid)))
      throw new Error(`Factory ${factory.uid} has no webhook ${uid} from a definition.`);
    await this.webhooks.markDeleted(tx, factory.uid, uid);
    await this.places.giveBack(tx, factory.uid);
  }

  private async copyOf(
    tx: Queryable,
    teamUid: string,
    uid: string,
    { name, secretName }: WebhookSettings,
  ): Promise<{ sealed: string; version: number }> {
    const secret = await this.managed.readForWebhook(tx, teamUid, secretName);
    if (!secret) throw new Error(`Webhook ${name} was not validated: there is no secret ${secretName}.`);
    await this.managed.reserveForWebhook(tx, teamUid, secretName);
    return { sealed: this.secrets.seal(uid, secret.value), version: secret.version };
  }
}

const header = ({ deliveryIdHeader }: WebhookSettings): { deliveryIdHeader: string | null } => ({
  deliveryIdHeader: deliveryIdHeader?.toLowerCase() ?? null,
});
