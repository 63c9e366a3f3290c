import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { forbidden, notFound, ProblemError, type ResourceProblems } from '#platform/http';
import type { RejectionOf } from '#platform/kernel';
import { MAX_REQUESTED_DELIVERIES } from '../application/deliveries.service.js';
import type { LoggedDelivery } from '../domain/delivery.js';
import { ingressUrl, type ManagedWebhook, type NotSupported } from '../domain/webhook.js';
import type { WebhookDelivery } from './delivery.dto.js';
import type { WebhookItem } from './webhook.dto.js';

export const WEBHOOK: ResourceProblems<NotSupported | RejectionOf<'forbidden'>> = {
  noun: 'webhook',
  plural: 'webhooks',
  owner: 'A factory',
  problems: {
    forbidden: () => forbidden('factory'),
    not_supported: ({ reason }) => new ProblemError('operation_not_supported', reason),
  },
};

type DeliveryRejection = { readonly kind: 'delivery_not_found' } | { readonly kind: 'rate_limited'; retryMs: number };

export const WEBHOOK_DELIVERY: ResourceProblems<DeliveryRejection | NotSupported | RejectionOf<'forbidden'>> = {
  noun: 'webhook',
  plural: 'deliveries of this webhook',
  problems: {
    ...WEBHOOK.problems,
    delivery_not_found: () => notFound('delivery'),
    rate_limited: ({ retryMs }) =>
      new ProblemError(
        'rate_limited',
        `At most ${MAX_REQUESTED_DELIVERIES} deliveries of a webhook can be redelivered or sent as a test in a minute.`,
        { retryAfterSeconds: Math.max(1, Math.ceil(retryMs / 1000)) },
      ),
  },
};

@Injectable()
export class WebhookPresenter {
  constructor(private readonly settings: Settings) {}

  /** `secret`: only after it was generated or supplied. `captured`: a secret that has to be confirmed. */
  present(webhook: ManagedWebhook, secret: string | null = null, captured: string | null = null): WebhookItem {
    const { uid, name, signatureScheme, deliveryIdHeader, enabled, hasSecret, secretPending, source } = webhook;
    return {
      uid,
      name,
      auth_mode: webhook.authMode,
      ...(signatureScheme !== null && { signature_scheme: signatureScheme }),
      secret_name: webhook.secretName,
      ...(deliveryIdHeader !== null && { delivery_id_header: deliveryIdHeader }),
      enabled,
      ...(!hasSecret && !secretPending && { secret_missing: true }),
      ...(secretPending && { secret_pending: true }),
      ...(captured !== null && { captured_secret: captured }),
      ingress_url: ingressUrl(this.settings.ingressPublicUrl, webhook, secret ?? '{token}'),
      source,
      ...(secret !== null && { secret }),
      created_at: webhook.createdAt.toISOString(),
      updated_at: webhook.updatedAt.toISOString(),
    };
  }
}

export function presentDelivery(delivery: LoggedDelivery): WebhookDelivery {
  const { id, outcome, identity, duplicateOf, redeliveryOf, isTest, occurrences, headers, evaluation } = delivery;
  return {
    delivery_id: id,
    ...(outcome === null ? { handshake: true } : { outcome }),
    ...(identity !== null && { identity }),
    ...(duplicateOf !== null && { duplicate_of: duplicateOf }),
    ...(redeliveryOf !== null && { redelivery_of: redeliveryOf }),
    ...(isTest && { test: true }),
    ...(occurrences > 1 && { count: occurrences }),
    size_bytes: delivery.sizeBytes,
    received_at: delivery.receivedAt.toISOString(),
    source_ip: delivery.sourceIp,
    ...(headers !== null && { headers }),
    ...(evaluation && {
      automation_results: evaluation.results,
      ...(evaluation.resultCount > evaluation.results.length && { automation_results_count: evaluation.resultCount }),
      ...(evaluation.error !== null && { evaluation_error: evaluation.error }),
    }),
  };
}
