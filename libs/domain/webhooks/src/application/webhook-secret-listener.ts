import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import {
  type ChangedSecret,
  SecretChangeListener,
  SecretChangeListeners,
  SecretRejectedError,
} from '#platform/secrets';
import { credentialFault } from '../domain/credential.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** Updates the copies that webhooks keep of a managed secret, in the transaction that changes the secret. */
@Injectable()
export class WebhookSecretListener extends SecretChangeListener implements OnModuleInit {
  constructor(
    private readonly listeners: SecretChangeListeners,
    private readonly store: WebhooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
  ) {
    super();
  }

  onModuleInit(): void {
    this.listeners.register(this);
  }

  /** Throws a SecretRejectedError when one of them cannot use it. */
  override async changed(tx: Queryable, { teamUid, name, version, value }: ChangedSecret): Promise<void> {
    for (const webhook of await this.store.lockCopies(tx, teamUid, name)) {
      const { id, uid, authMode, signatureScheme } = webhook;
      const fault = credentialFault({ authMode, scheme: this.schemes.find(signatureScheme ?? '') }, value);
      if (fault !== null)
        throw new SecretRejectedError(`is used by webhook ${webhook.name} (uid ${uid}), for which it ${fault}`);
      await this.store.replaceCopy(tx, id, this.secrets.copyOf(uid, { value, version }));
    }
  }

  override async usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    const users = await this.store.usersOf(tx, teamUid, name);
    return users.map((webhook) => `webhook ${webhook.name} (uid ${webhook.uid})`);
  }
}
