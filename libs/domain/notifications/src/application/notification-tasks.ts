import { defineTask } from '#platform/jobs';

const COMMON = {
  library: 'notifications',
  process: 'processor',
  queue: { name: 'notifications', options: { concurrency: 1, runRetryDelay: 500 } },
} as const;

export const SEND_NOTIFICATIONS_TASK = defineTask({
  ...COMMON,
  name: 'send-notifications',
  scope: 'process',
  period: { text: '`NOTIFY_POLL`', of: ({ notifyPoll }) => notifyPoll },
  description: 'Sends due notifications, 32 at a time. The queue is `notification_deliveries`.',
  // As a rule long enough for the transaction that wakes it up to commit.
  wakeUp: { by: 'a run ends, a test is requested, or an attempt ends', coalesceMs: 50 },
});
export const PRUNE_DELIVERIES_TASK = defineTask({
  ...COMMON,
  name: 'prune-deliveries',
  scope: 'cluster',
  period: 3_600_000,
  description: 'Deletes deliveries that ended longer ago than `NOTIFY_LOG_RETENTION`.',
});
