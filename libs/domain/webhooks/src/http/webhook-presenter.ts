import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { ingressUrl, type ManagedWebhook } from '../domain/webhook.js';
import type { WebhookItem } from './webhook.dto.js';
import type { AutomationResult, LoggedDelivery } from '../domain/delivery.js';
import type { WebhookAutomationResult, WebhookDelivery } from './delivery.dto.js';

@Injectable()
export class WebhookPresenter {
  constructor(private readonly settings: Settings) {}

  /** `secret`: only after it was generated or supplied. `captured`: a secret that has to be confirmed. */
  present(webhook: ManagedWebhook, shown: { readonly secret?: string; readonly captured?: string } = {}): WebhookItem {
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
      ...(shown.captured !== undefined && { captured_secret: shown.captured }),
      ingress_url: ingressUrl(this.settings.ingressPublicUrl, webhook, shown.secret ?? '{token}'),
      source: webhook.source,
      ...(shown.secret !== undefined && { secret: shown.secret }),
      created_at: webhook.createdAt.toISOString(),
      updated_at: webhook.updatedAt.toISOString(),
    };
  }
}

export function presentDelivery(delivery: LoggedDelivery): WebhookDelivery {
  const { id, outcome, identity, duplicateOf, redeliveryOf, occurrences, headers, evaluation } = delivery;
  return {
    delivery_id: id,
    ...(outcome === null ? { handshake: true } : { outcome }),
    ...(identity !== null && { identity }),
    ...(duplicateOf !== null && { duplicate_of: duplicateOf }),
    ...(redeliveryOf !== null && { redelivery_of: redeliveryOf }),
    ...(occurrences > 1 && { count: occurrences }),
    size_bytes: delivery.sizeBytes,
    received_at: delivery.receivedAt.toISOString(),
    source_ip: delivery.sourceIp,
    ...(headers !== null && { headers }),
    ...(evaluation !== null && { automation_results: evaluation.results.map(presentResult) }),
    ...(evaluation !== null &&
      evaluation.resultCount > evaluation.results.length && { automation_results_count: evaluation.resultCount }),
    ...(evaluation !== null && evaluation.error !== null && { evaluation_error: evaluation.error }),
  };
}

const presentResult = ({ automationUid, matched, runId, reason }: AutomationResult): WebhookAutomationResult => ({
  automation_uid: automationUid,
  matched,
  ...(runId !== undefined && { run_id: runId }),
  reason,
});
