import { Injectable } from '@nestjs/common';
import { Clock } from '#platform/kernel';
import { SERVICE_ID_HEADERS } from '../domain/delivery-identity.js';
import { ingressUrl, type ManagedWebhook } from '../domain/webhook.js';
import type { SignedRequest } from '../domain/signing/signature-scheme.js';
import { SignatureSchemes } from '../domain/signing/signature-schemes.js';
import { WebhooksStore } from '../persistence/webhooks.store.js';
import { IngressAuthModes } from './ingress-auth-modes.js';
import { WebhookSecrets } from './webhook-secrets.js';

export interface DeliveryToSign {
  readonly webhookUid: string;
  readonly body: Buffer;
  readonly deliveryId: string;
  /** The kind of the event; null: the sender does not name it in a header, or it is left out. */
  readonly event: string | null;
  /** Public origin of the ingress. */
  readonly origin: string;
}

type SignDeliveryResult =
  | ({ readonly kind: 'signed' } & SignedRequest)
  | { readonly kind: 'not_found' }
  | { readonly kind: 'no_secret' }
  /** The sender names no event in a header. */
  | { readonly kind: 'no_event_header' }
  /** Only the sender has the key, or the sender could not send this body. */
  | { readonly kind: 'not_signable'; readonly scheme: string };

const [SERVICE_HEADER] = SERVICE_ID_HEADERS;

/** Builds a delivery as the sender of a webhook would, to test a webhook. */
@Injectable()
export class SignDelivery {
  constructor(
    private readonly store: WebhooksStore,
    private readonly secrets: WebhookSecrets,
    private readonly schemes: SignatureSchemes,
    private readonly modes: IngressAuthModes,
    private readonly clock: Clock,
  ) {}

  async execute(delivery: DeliveryToSign): Promise<SignDeliveryResult> {
    const found = await this.store.findWithSecret(delivery.webhookUid);
    if (!found) return { kind: 'not_found' };
    if (found.sealedSecret === null) return { kind: 'no_secret' };
    const { webhook } = found;
    const secret = this.secrets.open(webhook.uid, found.sealedSecret);
    const url = ingressUrl(delivery.origin, webhook, secret);
    const eventHeader = this.schemes.find(webhook.signatureScheme ?? '')?.eventHeader ?? null;
    if (delivery.event !== null && eventHeader === null) return { kind: 'no_event_header' };
    if (webhook.authMode === 'signature') return this.sign(webhook, secret, url, delivery);
    const { body, deliveryId } = delivery;
    const headers = {
      [webhook.deliveryIdHeader ?? SERVICE_HEADER]: deliveryId,
      ...(webhook.authMode === 'token' && { authorization: `Bearer ${secret}` }),
      ...this.modes.find(webhook.authMode)?.headers(secret),
    };
    return { kind: 'signed', url, headers, body };
  }

  private sign(
    { signatureScheme, deliveryIdHeader }: ManagedWebhook,
    secret: string,
    url: string,
    { body, deliveryId, event }: DeliveryToSign,
  ): SignDeliveryResult {
    const scheme = this.schemes.find(signatureScheme ?? '');
    const signed = scheme?.sign({ body, secret, now: this.clock.now(), url, deliveryId });
    if (!scheme || !signed) return { kind: 'not_signable', scheme: scheme?.label ?? signatureScheme ?? '' };
    // Without a header of the webhook or of the scheme, the header of the service is used.
    const header = deliveryIdHeader ?? (scheme.deliveryIdHeaders.length === 0 ? SERVICE_HEADER : null);
    const headers = {
      ...(header !== null && { [header]: deliveryId }),
      ...(scheme.eventHeader !== null && event !== null && { [scheme.eventHeader]: event }),
      ...signed.headers,
    };
    return { kind: 'signed', url: signed.url, headers, body: signed.body };
  }
}
