import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { ingressUrl } from '../domain/ingress-url.js';
import type { ManagedWebhook } from '../domain/managed-webhook.js';
import type { WebhookItem } from './webhook.dto.js';

@Injectable()
export class WebhookPresenter {
  constructor(private readonly settings: Settings) {}

  /** `secret`: where it was made or supplied a moment ago. `captured`: what waits to be confirmed. */
  present(webhook: ManagedWebhook, told: { readonly secret?: string; readonly captured?: string } = {}): WebhookItem {
    const { signatureScheme, deliveryIdHeader, hasSecret, secretPending } = webhook;
    return {
      uid: webhook.uid,
      name: webhook.name,
      auth_mode: webhook.authMode,
      ...(signatureScheme !== null && { signature_scheme: signatureScheme }),
      secret_name: webhook.secretName,
      ...(deliveryIdHeader !== null && { delivery_id_header: deliveryIdHeader }),
      enabled: webhook.enabled,
      ...(!hasSecret && !secretPending && { secret_missing: true }),
      ...(secretPending && { secret_pending: true }),
      ...(told.captured !== undefined && { captured_secret: told.captured }),
      ingress_url: ingressUrl(this.settings.ingressPublicUrl, webhook, told.secret ?? '{token}'),
      source: webhook.source,
      ...(told.secret !== undefined && { secret: told.secret }),
      created_at: webhook.createdAt.toISOString(),
      updated_at: webhook.updatedAt.toISOString(),
    };
  }
}
