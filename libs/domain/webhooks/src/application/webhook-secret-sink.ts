import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Queryable } from '#platform/persistence';
import { type ChangedSecret, SecretRefusedError, SecretSink, SecretSinks } from '#platform/secrets';
import { credentialFault } from '../domain/credential.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { SecretCopies } from '../persistence/secret-copies.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** Webhooks follow their managed secrets in the transaction that changes them. */
@Injectable()
export class WebhookSecretSink extends SecretSink implements OnModuleInit {
  constructor(
    private readonly sinks: SecretSinks,
    private readonly copies: SecretCopies,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
  ) {
    super();
  }

  onModuleInit(): void {
    this.sinks.register(this);
  }

  /** Throws a SecretRefusedError when one of them cannot use it. */
  override async changed(tx: Queryable, { teamUid, name, version, value }: ChangedSecret): Promise<void> {
    for (const webhook of await this.copies.followers(tx, teamUid, name)) {
      const { id, uid, authMode, signatureScheme } = webhook;
      const fault = credentialFault({ authMode, scheme: this.schemes.find(signatureScheme ?? '') }, value);
      if (fault !== null)
        throw new SecretRefusedError(`is used by webhook ${webhook.name} (uid ${uid}), for which it ${fault}`);
      await this.copies.replace(tx, id, this.secrets.seal(uid, value), version);
    }
  }

  override async usedBy(tx: Queryable, teamUid: string, name: string): Promise<readonly string[]> {
    const users = await this.copies.users(tx, teamUid, name);
    return users.map((webhook) => `webhook ${webhook.name} (uid ${webhook.uid})`);
  }
}
