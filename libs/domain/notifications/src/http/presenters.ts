import { MASKED } from '#platform/kernel';
import type { Delivery } from '../domain/delivery.js';
import type { NotificationWebhook } from '../domain/notification-webhook.js';
import type { NotificationDelivery, NotificationWebhookItem } from './webhook.dto.js';

/** `secret` only where it was made a moment ago. Paths of such addresses are often secrets themselves. */
export function presentWebhook(
  webhook: NotificationWebhook,
  { mayManage, secret = MASKED }: { readonly mayManage: boolean; readonly secret?: string },
): NotificationWebhookItem {
  const { uid, name, url, events, enabled, disabledReason, createdAt, updatedAt } = webhook;
  return {
    uid,
    name,
    url: mayManage ? url : `${new URL(url).origin}/${MASKED}`,
    events: [...events],
    enabled,
    ...(disabledReason !== null && { disabled_reason: disabledReason }),
    secret,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

export function presentDelivery(delivery: Delivery, mayManage: boolean): NotificationDelivery {
  const { messageId, type, runId, status, attempts, log, nextAttemptAt, createdAt, finishedAt } = delivery;
  return {
    delivery_id: messageId,
    type,
    ...(runId !== null && { run_id: runId }),
    status,
    attempt_count: attempts,
    attempts: log.map(({ response_body: body, ...attempt }) => ({
      ...attempt,
      ...(mayManage && body !== undefined && { response_body: body }),
    })),
    ...(nextAttemptAt !== null && { next_attempt_at: nextAttemptAt.toISOString() }),
    created_at: createdAt.toISOString(),
    ...(finishedAt !== null && { finished_at: finishedAt.toISOString() }),
  };
}
