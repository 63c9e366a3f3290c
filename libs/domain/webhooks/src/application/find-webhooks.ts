import { Injectable } from '@nestjs/common';
import type { Factory } from '#domain/factories';
import type { ManagedWebhook } from '../domain/managed-webhook.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { WebhookSecrets } from './webhook-secrets.js';

export interface WebhookDetails {
  readonly webhook: ManagedWebhook;
  /** What a handshake brought, for somebody to confirm. */
  readonly capturedSecret: string | null;
}

/** Webhooks of a factory, for those who manage it. */
@Injectable()
export class FindWebhooks {
  constructor(
    private readonly store: WebhooksStore,
    private readonly secrets: WebhookSecrets,
  ) {}

  /** By name. */
  list(factory: Factory): Promise<ManagedWebhook[]> {
    return this.store.list(factory.uid);
  }

  /** Whatever factory it is of: for the command line, which may see everything. */
  async findAnywhere(uid: string): Promise<ManagedWebhook | null> {
    return (await this.store.findWithSecret(uid))?.webhook ?? null;
  }

  async find(factory: Factory, uid: string): Promise<WebhookDetails | null> {
    const webhook = await this.store.find(factory.uid, uid);
    if (!webhook) return null;
    const { sealedCapturedSecret: sealed } = webhook;
    return { webhook, capturedSecret: sealed === null ? null : this.secrets.openCaptured(uid, sealed) };
  }
}
