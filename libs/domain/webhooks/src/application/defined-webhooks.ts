import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { isStorableText, newUid, type RejectionOf } from '#platform/kernel';
import type { Queryable } from '#platform/persistence';
import { ManagedSecrets, SealBrokenError, SECRET_NAME, SECRET_NAME_RULE } from '#platform/secrets';
import {
  type DefinedWebhook,
  type ManagedWebhook,
  MAX_WEBHOOK_NAME,
  type WebhookSettingIssue,
  type WebhookSettings,
} from '../domain/webhook.js';
import { WEBHOOK_QUOTA, WebhooksStore } from '../persistence/webhooks.store.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { IngressAuthModes } from './ingress-auth-modes.js';
import { credentialFault } from '../domain/credential.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { planWebhook } from '../domain/webhook-plan.js';

/** `sealed`: it exists and cannot be decrypted. */
type KnownSecret = { readonly kind: 'open'; readonly value: string } | { readonly kind: 'missing' | 'sealed' };

const FIELDS: ReadonlyMap<string, keyof WebhookSettings> = new Map([
  ['/signature_scheme', 'signatureScheme'],
  ['/delivery_id_header', 'deliveryIdHeader'],
]);

/**
 * Webhooks of factory definitions, within the transaction of the caller, who also checks the permission. An apply calls
 * `lock`, `list` and `validate` in this order, and changes nothing when there are issues. It deletes before it creates, so
 * that deleted webhooks do not count against the quota.
 */
@Injectable()
export class DefinedWebhooks {
  constructor(
    private readonly store: WebhooksStore,
    private readonly managed: ManagedSecrets,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
    private readonly modes: IngressAuthModes,
  ) {}

  /**
   * Until the transaction ends no other one deletes a webhook of the factory or changes one of a definition. Not needed for
   * reading. Managed secrets are locked after these webhooks: changes of secrets do not lock webhooks of definitions.
   */
  async lock(tx: Queryable, factory: Factory): Promise<void> {
    await WEBHOOK_QUOTA.lock(tx, factory.uid);
    await this.store.lockAllDefined(tx, factory.uid);
  }

  /** Names of all webhooks of the factory, including those of the API. */
  async names(tx: Queryable, factoryUid: string): Promise<string[]> {
    return (await this.store.listForDefinition(tx, factoryUid)).map(({ name }) => name);
  }

  /** From the API and from definitions, by name. */
  async list(tx: Queryable, { uid, teamUid }: Factory): Promise<DefinedWebhook[]> {
    const found = await this.store.listForDefinition(tx, uid);
    const names = [...new Set(found.map(({ secretName }) => secretName))];
    const versions = await this.managed.versions(tx, teamUid, names);
    return found.map((webhook) => ({ ...webhook, managedSecretVersion: versions.get(webhook.secretName) ?? null }));
  }

  /** The issues of each. The managed secrets that they name are locked until the transaction ends. */
  async validate(
    tx: Queryable,
    { teamUid }: Factory,
    specs: readonly WebhookSettings[],
  ): Promise<readonly (readonly WebhookSettingIssue[])[]> {
    const secrets = new Map<string, KnownSecret>();
    // Sorted: one lock order for all transactions.
    for (const name of [...new Set(specs.map(({ secretName }) => secretName))].sort())
      secrets.set(name, await this.findSecret(tx, teamUid, name));
    return specs.map((spec) => [
      ...nameIssues(spec.name),
      ...this.planIssues(spec),
      ...this.secretIssues(spec, secrets.get(spec.secretName) ?? { kind: 'missing' }),
    ]);
  }

  async create(
    tx: Queryable,
    { uid: factoryUid, teamUid }: Factory,
    spec: WebhookSettings,
  ): Promise<{ readonly kind: 'created'; readonly uid: string } | RejectionOf<'limit_reached'>> {
    if (!(await WEBHOOK_QUOTA.reserve(tx, factoryUid))) return { kind: 'limit_reached', limit: WEBHOOK_QUOTA.limit };
    const uid = newUid();
    await this.store.insert(tx, {
      ...(await this.withCopy(tx, teamUid, uid, spec)),
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

  /** Copies the current value of the managed secret; senders see the change from the commit on. */
  async replace(
    tx: Queryable,
    { uid: factoryUid, teamUid }: Factory,
    uid: string,
    spec: WebhookSettings,
  ): Promise<void> {
    // Lock order: the secret before the webhook.
    const fields = await this.withCopy(tx, teamUid, uid, spec);
    const { id } = await this.lockDefined(tx, factoryUid, uid);
    await this.store.replaceDefined(tx, id, fields);
  }

  /** Keeps the delivery log until it expires, and the managed secret, which the webhook does not own. */
  async delete(tx: Queryable, factory: Factory, uid: string): Promise<void> {
    await WEBHOOK_QUOTA.lock(tx, factory.uid);
    await this.lockDefined(tx, factory.uid, uid);
    await this.store.markDeleted(tx, factory.uid, uid);
    await WEBHOOK_QUOTA.release(tx, factory.uid);
  }

  private async lockDefined(tx: Queryable, factoryUid: string, uid: string): Promise<ManagedWebhook> {
    const found = await this.store.lockDefined(tx, factoryUid, uid);
    if (!found) throw new Error(`Factory ${factoryUid} has no webhook ${uid} from a definition.`);
    return found;
  }

  private async withCopy(tx: Queryable, teamUid: string, uid: string, spec: WebhookSettings) {
    const { name, secretName, deliveryIdHeader } = spec;
    const secret = await this.managed.readForWebhook(tx, teamUid, secretName);
    if (!secret) throw new Error(`Webhook ${name} was not validated: there is no secret ${secretName}.`);
    await this.managed.reserveForWebhook(tx, teamUid, secretName);
    const header = deliveryIdHeader?.toLowerCase() ?? null;
    return { ...spec, deliveryIdHeader: header, copy: this.secrets.copyOf(uid, secret) };
  }

  private planIssues(spec: WebhookSettings): WebhookSettingIssue[] {
    const planning = planWebhook({ ...spec, secret: null }, this.schemes, this.modes.names);
    if (planning.kind === 'planned') return [];
    return planning.issues.map(({ pointer, detail }) => ({ field: FIELDS.get(pointer) ?? 'authMode', detail }));
  }

  private secretIssues(
    { authMode, signatureScheme, secretName }: WebhookSettings,
    secret: KnownSecret,
  ): WebhookSettingIssue[] {
    const issue = (detail: string): WebhookSettingIssue[] => [{ field: 'secretName', detail }];
    switch (secret.kind) {
      case 'missing':
        return issue(
          SECRET_NAME.test(secretName)
            ? 'must name a managed secret of the team; no secret has this name'
            : `must name a managed secret of the team: ${SECRET_NAME_RULE}`,
        );
      case 'sealed':
        return issue(
          'names a secret that cannot be decrypted with the keys of this installation: store its value again',
        );
      case 'open': {
        const scheme = this.schemes.find(signatureScheme ?? '');
        // A missing scheme is reported as an issue of the scheme.
        if (authMode === 'signature' && !scheme) return [];
        const fault = credentialFault({ authMode, scheme }, secret.value);
        return fault === null ? [] : issue(`names a secret that cannot be used here: it ${fault}`);
      }
    }
  }

  private async findSecret(tx: Queryable, teamUid: string, name: string): Promise<KnownSecret> {
    if (!SECRET_NAME.test(name)) return { kind: 'missing' };
    try {
      const found = await this.managed.readForWebhook(tx, teamUid, name);
      return found ? { kind: 'open', value: found.value } : { kind: 'missing' };
    } catch (error) {
      if (error instanceof SealBrokenError) return { kind: 'sealed' };
      throw error;
    }
  }
}

function nameIssues(name: string): WebhookSettingIssue[] {
  const issue = (detail: string): WebhookSettingIssue[] => [{ field: 'name', detail }];
  if (name.trim() === '') return issue('must not be blank');
  if (!isStorableText(name)) return issue('must not contain NUL characters or lone surrogates');
  return name.length > MAX_WEBHOOK_NAME ? issue(`must not exceed ${MAX_WEBHOOK_NAME} characters`) : [];
}
