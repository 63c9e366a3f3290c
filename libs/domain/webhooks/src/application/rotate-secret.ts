import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import { Database, type Queryable } from '#platform/persistence';
import { ManagedSecrets } from '#platform/secrets';
import { type Authentication, credentialFault, generateCredential } from '../domain/credential.js';
import type { ManagedWebhook } from '../domain/managed-webhook.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { orSecretRefusal } from './secret-refusals.js';
import { type InvalidInput, invalid, type RotateSecretResult } from './webhook-outcomes.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** Deleted since it was read. Thrown, so that the managed secret is what it was. */
class WebhookGoneError extends Error {}

type Choice = { readonly kind: 'chosen'; readonly secret: string } | InvalidInput;

/**
 * Gives a webhook another secret, or its first. It goes into the managed secret, and from there in the same transaction
 * to every webhook that follows that one; the secret before fails from the commit on.
 */
@Injectable()
export class RotateWebhookSecret {
  constructor(
    private readonly database: Database,
    private readonly store: WebhooksStore,
    private readonly managed: ManagedSecrets,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
  ) {}

  /** `given`: the sender's secret, in `signature` mode; null to have one made, or the one confirmed that a handshake brought. */
  async execute(factory: Factory, uid: string, given: string | null): Promise<RotateSecretResult> {
    const webhook = await this.store.find(factory.uid, uid);
    if (!webhook) return { kind: 'unknown' };
    if (webhook.source === 'definition') {
      const reason = `The webhook comes from a definition: change its managed secret, ${webhook.secretName}, and apply the definition again.`;
      return { kind: 'not_supported', reason };
    }
    const choice = this.choose(webhook, given);
    if (choice.kind === 'invalid') return choice;
    try {
      return await orSecretRefusal(() => this.database.transaction((tx) => this.put(tx, webhook, choice.secret)));
    } catch (error) {
      if (error instanceof WebhookGoneError) return { kind: 'unknown' };
      throw error;
    }
  }

  private async put(
    tx: Queryable,
    { teamUid, factoryUid, uid, secretName }: ManagedWebhook,
    secret: string,
  ): Promise<RotateSecretResult> {
    await this.managed.put(tx, { teamUid, name: secretName, value: secret });
    const webhook = await this.store.lock(tx, factoryUid, uid);
    if (!webhook) throw new WebhookGoneError();
    return { kind: 'rotated', webhook, secret };
  }

  private choose(webhook: ManagedWebhook, given: string | null): Choice {
    const { uid, authMode, signatureScheme, sealedCapturedSecret: captured } = webhook;
    const authentication = { authMode, scheme: this.schemes.find(signatureScheme ?? '') };
    if (given !== null) return checked(authentication, given);
    const brought = captured === null ? null : this.secrets.openCaptured(uid, captured);
    if (brought !== null) return checked(authentication, brought);
    const generated = generateCredential(authentication);
    if (generated !== null) return { kind: 'chosen', secret: generated };
    return invalid(
      '/secret',
      webhook.secretPending
        ? 'is required: no handshake of the sender has brought one yet'
        : 'is required: senders of this signature scheme make the secret',
    );
  }
}

function checked(authentication: Authentication, secret: string): Choice {
  if (authentication.authMode !== 'signature')
    return invalid('/secret', 'goes with `auth_mode` signature only: the service generates it in the others');
  const fault = credentialFault(authentication, secret);
  return fault === null ? { kind: 'chosen', secret } : invalid('/secret', fault);
}
