import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { newUid, type RejectionOf } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets, SealBrokenError, SecretRejectedError } from '#platform/secrets';
import { IngressAuthModes } from './ingress-auth-modes.js';
import { credentialFault, generateCredential, SECRET_NOT_ALLOWED } from '../domain/credential.js';
import type { DeliveryOutcome, LoggedDelivery } from '../domain/delivery.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { type ManagedWebhook, type NotSupported, notSupported, type WebhookSettings } from '../domain/webhook.js';
import { deliveryIdHeaderFault, planWebhook, type WebhookPlan, type WebhookRequest } from '../domain/webhook-plan.js';
import { DeliveriesStore } from '../persistence/deliveries.store.js';
import { type NewWebhook, WEBHOOK_QUOTA, WebhooksStore } from '../persistence/webhooks.store.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** `secret`: null when there is none that may be returned. */
type CreateWebhookResult =
  | { readonly kind: 'created'; readonly webhook: ManagedWebhook; readonly secret: string | null }
  | RejectionOf<'limit_reached' | 'invalid'>;
type UpdateWebhookResult =
  | { readonly kind: 'updated'; readonly webhook: ManagedWebhook }
  | RejectionOf<'not_found' | 'invalid'>
  | NotSupported;
type RotateSecretResult =
  | { readonly kind: 'rotated'; readonly webhook: ManagedWebhook; readonly secret: string }
  | RejectionOf<'not_found' | 'invalid'>
  | NotSupported;

/** Omitted fields keep their values; null removes the header. */
export type WebhookChanges = Partial<Pick<WebhookSettings, 'name' | 'enabled' | 'deliveryIdHeader'>>;

type NewSecret = Pick<NewWebhook, 'secretName' | 'secretOwned' | 'copy'>;

/** The webhook was deleted during the transaction. Thrown, so that the change of the managed secret is rolled back. */
class WebhookDeletedError extends Error {}

/**
 * Webhooks of a factory. Access to the factory is checked by the caller. Deliveries see every change from its commit on,
 * on every instance.
 */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly deliveries: DeliveriesStore,
    private readonly managed: ManagedSecrets,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
    private readonly modes: IngressAuthModes,
  ) {}

  list(factory: Factory): Promise<ManagedWebhook[]> {
    return this.store.list(factory.uid);
  }

  /** `capturedSecret`: the secret that a handshake has brought and that a user has to confirm. */
  async get(factory: Factory, uid: string) {
    const webhook = await this.store.find(factory.uid, uid);
    if (!webhook) return { kind: 'not_found' as const };
    const { sealedCapturedSecret: sealed } = webhook;
    const capturedSecret = sealed === null ? null : this.secrets.openCaptured(uid, sealed);
    return { kind: 'found' as const, webhook, capturedSecret };
  }

  /** In any factory: for the command line, which is not restricted to a team. */
  async getByUid(uid: string): Promise<ManagedWebhook | null> {
    return (await this.store.findWithSecret(uid))?.webhook ?? null;
  }

  /** The newest deliveries of a webhook in any factory, for the command line. Null for an unknown webhook. */
  async latestDeliveries(
    uid: string,
    outcome: DeliveryOutcome | null,
    limit: number,
  ): Promise<LoggedDelivery[] | null> {
    const webhook = await this.getByUid(uid);
    return webhook && this.deliveries.list(webhook.id, outcome, limit);
  }

  async create(factory: Factory, request: WebhookRequest): Promise<CreateWebhookResult> {
    const planning = planWebhook(request, this.schemes, this.modes.names);
    if (planning.kind === 'invalid') return planning;
    const { plan } = planning;
    const isWaiting = plan.secret.kind === 'supplied_later';
    return orInvalidSecret(() =>
      this.database.transaction(async (tx): Promise<CreateWebhookResult> => {
        if (!(await WEBHOOK_QUOTA.reserve(tx, factory.uid)))
          return { kind: 'limit_reached', limit: WEBHOOK_QUOTA.limit };
        const uid = newUid();
        const secret = await this.newSecret(tx, uid, factory.teamUid, plan);
        if ('kind' in secret) {
          await WEBHOOK_QUOTA.release(tx, factory.uid);
          return secret;
        }
        const webhook = await this.store.insert(tx, {
          ...secret,
          uid,
          factoryUid: factory.uid,
          teamUid: factory.teamUid,
          name: request.name,
          authMode: request.authMode,
          signatureScheme: plan.authentication.scheme?.id ?? null,
          deliveryIdHeader: plan.deliveryIdHeader,
          enabled: request.enabled && !isWaiting,
          enablesWithSecret: request.enabled && isWaiting,
          source: 'api',
          secretPending: plan.secret.kind === 'brought_by_handshake',
        });
        return { kind: 'created', webhook, secret: plan.secret.kind === 'own' ? plan.secret.value : null };
      }),
    );
  }

  async update(factory: Factory, uid: string, changes: WebhookChanges): Promise<UpdateWebhookResult> {
    const { name, enabled, deliveryIdHeader: header } = changes;
    const fault = typeof header === 'string' ? deliveryIdHeaderFault(header, this.schemes) : null;
    if (fault !== null) return invalid('/delivery_id_header', fault);
    return this.database.transaction(async (tx): Promise<UpdateWebhookResult> => {
      const webhook = await this.store.lock(tx, factory.uid, uid);
      if (!webhook) return { kind: 'not_found' };
      if (webhook.source === 'definition' && name !== undefined && name !== webhook.name)
        return notSupported('The name of a webhook from a definition is that of its file: rename it there.');
      if (enabled === true && !webhook.hasSecret && !webhook.secretPending)
        return notSupported(
          'The webhook has no secret yet: supply the secret of the sender with rotate-secret, then enable the webhook.',
        );
      const updated = await this.store.update(tx, webhook.id, {
        name: name ?? webhook.name,
        enabled: enabled ?? webhook.enabled,
        mayEnable: enabled !== false,
        deliveryIdHeader: header === undefined ? webhook.deliveryIdHeader : (header?.toLowerCase() ?? null),
      });
      return { kind: 'updated', webhook: updated };
    });
  }

  /**
   * Sets another secret, or the first one. It is stored in the managed secret, and copied in the same transaction to every
   * webhook that uses it; the previous secret is rejected from the commit on. `supplied`: the secret of the sender, in
   * `signature` mode; null to generate one, or to confirm the one that a handshake has brought.
   */
  async rotateSecret(factory: Factory, uid: string, supplied: string | null): Promise<RotateSecretResult> {
    const webhook = await this.store.find(factory.uid, uid);
    if (!webhook) return { kind: 'not_found' };
    const { teamUid, factoryUid, secretName } = webhook;
    if (webhook.source === 'definition')
      return notSupported(
        `The webhook comes from a definition: change its managed secret, ${secretName}, and apply the definition again.`,
      );
    const secret = this.chooseSecret(webhook, supplied);
    if (typeof secret !== 'string') return secret;
    try {
      return await orInvalidSecret(() =>
        this.database.transaction(async (tx): Promise<RotateSecretResult> => {
          await this.managed.put(tx, { teamUid, name: secretName, value: secret });
          const rotated = await this.store.lock(tx, factoryUid, uid);
          if (!rotated) throw new WebhookDeletedError();
          return { kind: 'rotated', webhook: rotated, secret };
        }),
      );
    } catch (error) {
      if (error instanceof WebhookDeletedError) return { kind: 'not_found' };
      throw error;
    }
  }

  /** Senders get 404 from the commit on. The delivery log is kept until it expires. */
  async delete(
    { uid: factoryUid, teamUid }: Factory,
    uid: string,
  ): Promise<{ readonly kind: 'deleted' } | RejectionOf<'not_found'>> {
    const deletion = await this.database.transaction(async (tx) => {
      await WEBHOOK_QUOTA.lock(tx, factoryUid);
      const webhook = await this.store.find(factoryUid, uid, tx);
      if (!webhook) return null;
      const { secretName, secretOwned } = webhook;
      // Lock order: the secret before the webhook.
      const isLocked = secretOwned && (await this.lockSecret(tx, teamUid, secretName));
      if (!(await this.store.markDeleted(tx, factoryUid, uid))) return null;
      await WEBHOOK_QUOTA.release(tx, factoryUid);
      // A secret that another webhook uses as well is kept for that one.
      if (isLocked) await this.managed.delete(tx, teamUid, secretName);
      // A secret that was created since would be locked in the wrong order: it is deleted in a separate transaction.
      return { leftoverSecret: secretOwned && !isLocked ? secretName : null };
    });
    if (!deletion) return { kind: 'not_found' };
    const { leftoverSecret: name } = deletion;
    if (name !== null) await this.database.transaction((tx) => this.managed.delete(tx, teamUid, name));
    return { kind: 'deleted' };
  }

  /** Locks the managed secret until the webhook is inserted, so that no secret is copied that changes meanwhile. */
  private async newSecret(
    tx: Queryable,
    uid: string,
    teamUid: string,
    { authentication, secret }: WebhookPlan,
  ): Promise<NewSecret | RejectionOf<'invalid'>> {
    const ownName = `webhook-${uid}`;
    switch (secret.kind) {
      case 'managed': {
        const found = await this.managed.readForWebhook(tx, teamUid, secret.name);
        if (!found) return invalid('/secret_name', 'must name a managed secret of the team');
        const fault = credentialFault(authentication, found.value);
        if (fault !== null) return invalid('/secret_name', `names a secret that cannot be used here: it ${fault}`);
        await this.managed.reserveForWebhook(tx, teamUid, secret.name);
        return { secretName: secret.name, secretOwned: false, copy: this.secrets.copyOf(uid, found) };
      }
      case 'own': {
        const { version } = await this.managed.put(tx, { teamUid, name: ownName, value: secret.value });
        return {
          secretName: ownName,
          secretOwned: true,
          copy: this.secrets.copyOf(uid, { value: secret.value, version }),
        };
      }
      case 'brought_by_handshake':
      case 'supplied_later':
        return { secretName: ownName, secretOwned: true, copy: null };
    }
  }

  private chooseSecret(webhook: ManagedWebhook, supplied: string | null): string | RejectionOf<'invalid'> {
    const { uid, authMode, signatureScheme, sealedCapturedSecret: captured } = webhook;
    const authentication = { authMode, scheme: this.schemes.find(signatureScheme ?? '') };
    const chosen = supplied ?? (captured === null ? null : this.secrets.openCaptured(uid, captured));
    if (chosen !== null) {
      const fault = authMode === 'signature' ? credentialFault(authentication, chosen) : SECRET_NOT_ALLOWED;
      return fault === null ? chosen : invalid('/secret', fault);
    }
    const reason = webhook.secretPending
      ? 'is required: no handshake of the sender has brought one yet'
      : 'is required: senders of this signature scheme generate the secret';
    return generateCredential(authentication) ?? invalid('/secret', reason);
  }

  /** Whether the secret exists; then it cannot change until the transaction ends. */
  private async lockSecret(tx: Queryable, teamUid: string, name: string): Promise<boolean> {
    try {
      return (await this.managed.readForWebhook(tx, teamUid, name)) !== null;
    } catch (error) {
      // A secret that cannot be decrypted can still be deleted.
      if (error instanceof SealBrokenError) return true;
      throw error;
    }
  }
}

/** A change of a managed secret may be rejected on behalf of another user of the secret. */
async function orInvalidSecret<T>(work: () => Promise<T>): Promise<T | RejectionOf<'invalid'>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SecretRejectedError) return invalid('/secret', error.reason);
    throw error;
  }
}

const invalid = (pointer: string, detail: string): RejectionOf<'invalid'> => ({
  kind: 'invalid',
  issues: [{ pointer, detail }],
});
