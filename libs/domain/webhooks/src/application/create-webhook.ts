import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { newUid } from '#platform/kernel';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import { credentialFault } from '../domain/credential.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { MAX_WEBHOOKS_PER_FACTORY } from '../domain/webhook.js';
import { planWebhook, type WebhookPlan, type WebhookRequest } from '../domain/webhook-plan.js';
import { WebhookPlaces } from '../persistence/webhook-places.js';
import { type NewWebhook, WebhooksStore } from '../persistence/webhooks.store.js';
import { orSecretRefusal } from './secret-refusals.js';
import { type CreateWebhookResult, type InvalidInput, invalid } from './webhook-outcomes.js';
import { WebhookSecrets } from './webhook-secrets.js';

type Secret = Pick<NewWebhook, 'secretName' | 'secretOwned' | 'copy'>;

/** Makes a webhook of a factory. A secret that the service made, or was given, is told this once. */
@Injectable()
export class CreateWebhook {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly places: WebhookPlaces,
    private readonly managed: ManagedSecrets,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
  ) {}

  async execute(factory: Factory, request: WebhookRequest): Promise<CreateWebhookResult> {
    const planning = planWebhook(request, this.schemes);
    if (planning.kind === 'invalid') return planning;
    const { plan } = planning;
    return orSecretRefusal(() => this.database.transaction((tx) => this.insert(tx, factory, request, plan)));
  }

  private async insert(
    tx: Queryable,
    { uid: factoryUid, teamUid }: Factory,
    { name, authMode, enabled }: WebhookRequest,
    plan: WebhookPlan,
  ): Promise<CreateWebhookResult> {
    if (!(await this.places.take(tx, factoryUid, MAX_WEBHOOKS_PER_FACTORY)))
      return { kind: 'limit_reached', limit: MAX_WEBHOOKS_PER_FACTORY };
    const uid = newUid();
    const secret = await this.secretOf(tx, uid, teamUid, plan);
    if ('kind' in secret) {
      await this.places.giveBack(tx, factoryUid);
      return secret;
    }
    const isWaiting = plan.secret.kind === 'supplied_later';
    const webhook = await this.store.insert(tx, {
      ...secret,
      uid,
      factoryUid,
      teamUid,
      name,
      authMode,
      signatureScheme: plan.authentication.scheme?.id ?? null,
      deliveryIdHeader: plan.deliveryIdHeader,
      enabled: enabled && !isWaiting,
      enablesWithSecret: enabled && isWaiting,
      source: 'api',
      secretPending: plan.secret.kind === 'brought_by_handshake',
    });
    return { kind: 'created', webhook, secret: plan.secret.kind === 'own' ? plan.secret.value : null };
  }

  /** Holds the managed secret until the webhook is there, so that none that is deleted or changed meanwhile is copied. */
  private async secretOf(
    tx: Queryable,
    uid: string,
    teamUid: string,
    { authentication, secret }: WebhookPlan,
  ): Promise<Secret | InvalidInput> {
    const ownName = `webhook-${uid}`;
    switch (secret.kind) {
      case 'managed': {
        const found = await this.managed.readForWebhook(tx, teamUid, secret.name);
        if (!found) return invalid('/secret_name', 'must name a managed secret of the team');
        const fault = credentialFault(authentication, found.value);
        if (fault !== null) return invalid('/secret_name', `names a secret that cannot be used here: it ${fault}`);
        await this.managed.reserveForWebhook(tx, teamUid, secret.name);
        const copy = { sealed: this.secrets.seal(uid, found.value), version: found.version };
        return { secretName: secret.name, secretOwned: false, copy };
      }
      case 'own': {
        const { version } = await this.managed.put(tx, { teamUid, name: ownName, value: secret.value });
        return {
          secretName: ownName,
          secretOwned: true,
          copy: { sealed: this.secrets.seal(uid, secret.value), version },
        };
      }
      case 'brought_by_handshake':
      case 'supplied_later':
        return { secretName: ownName, secretOwned: true, copy: null };
    }
  }
}
