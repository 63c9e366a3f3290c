import { MASKED } from '#platform/kernel';
import type { StoredNotification } from '../domain/notification-delivery.js';
import type { NotificationWebhook } from '../domain/notification-webhook.js';
import type { NotificationDelivery, NotificationWebhookItem } from './notification-webhook.dto.js';
import {
  forbidden,
  invalidCursor,
  invalidInput,
  limitReached,
  notFound,
  ProblemError,
  teamRequired,
} from '#platform/http';
import type { NotificationWebhookFailure } from '../application/notification-webhooks.service.js';

/** `secret`: only directly after it was generated. The path of the URL is often a secret itself. */
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

export function notificationProblem(failure: NotificationWebhookFailure): ProblemError {
  switch (failure.kind) {
    case 'unknown':
      return notFound('notification webhook');
    case 'not_yours':
      return forbidden('notification webhook');
    case 'team_needed':
      return teamRequired();
    case 'limit_reached':
      return limitReached('A team', failure.limit, 'notification webhooks');
    case 'bad_url':
      return invalidInput([{ pointer: '/url', detail: failure.rule }]);
    case 'bad_cursor':
      return invalidCursor('these deliveries');
    case 'test_pending':
      return new ProblemError('conflict', 'A test of this webhook is already pending.');
  }
}
