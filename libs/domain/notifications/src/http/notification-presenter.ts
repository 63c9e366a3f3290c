import { ProblemError, type ResourceProblems } from '#platform/http';
import { MASKED } from '#platform/kernel';
import type { StoredNotification } from '../domain/notification-delivery.js';
import type { NotificationFilter, NotificationWebhook } from '../domain/notification-webhook.js';
import type {
  NotificationDelivery,
  NotificationFilterItem,
  NotificationWebhookItem,
} from './notification-webhook.dto.js';

export const NOTIFICATION_WEBHOOK: ResourceProblems<{ readonly kind: 'test_pending' }> = {
  noun: 'notification webhook',
  plural: 'notification webhooks',
  problems: { test_pending: () => new ProblemError('conflict', 'A test of this webhook is already pending.') },
};

/** `secret`: only directly after it was generated. The path of the URL is often a secret itself. */
export function presentWebhook(
  webhook: NotificationWebhook,
  mayManage: boolean,
  secret = MASKED,
): NotificationWebhookItem {
  const { uid, name, url, format, events, filter, enabled, decisions, disabledReason, createdAt, updatedAt } = webhook;
  return {
    uid,
    name,
    url: mayManage ? url : `${new URL(url).origin}/${MASKED}`,
    format,
    events: [...events],
    ...(filter !== null && { filter: shownFilter(filter) }),
    enabled,
    decisions,
    ...(disabledReason !== null && { disabled_reason: disabledReason }),
    secret,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

function shownFilter({ schedule_ids, automation_ids, artifact_types }: NotificationFilter): NotificationFilterItem {
  return {
    ...(schedule_ids && { schedule_ids: [...schedule_ids] }),
    ...(automation_ids && { automation_ids: [...automation_ids] }),
    ...(artifact_types && { artifact_types: [...artifact_types] }),
  };
}

export function presentDelivery(delivery: StoredNotification, mayManage: boolean): NotificationDelivery {
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
