import type { AutomationResult } from '../domain/delivery.js';
import type { LoggedDelivery } from '../domain/logged-delivery.js';
import type { WebhookAutomationResult, WebhookDelivery } from './delivery.dto.js';

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
