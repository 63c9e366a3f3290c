import { defineTask } from '#platform/jobs';

const COMMON = {
  library: 'webhooks',
  process: 'processor',
  // Two jobs at a time: a wake-up does not wait for the hourly pruning.
  queue: { name: 'webhooks', options: { concurrency: 2, runRetryDelay: 500 } },
} as const;

export const EVALUATE_DELIVERIES_TASK = defineTask({
  ...COMMON,
  name: 'evaluate-deliveries',
  scope: 'process',
  period: {
    text: '`WEBHOOK_EVALUATION_POLL`',
    of: ({ webhookEvaluationPoll }) => webhookEvaluationPoll,
  },
  description:
    'Evaluates accepted deliveries, every factory in turn, until none is left. The queue is `webhook_deliveries`.',
  wakeUp: { by: 'a delivery is accepted, or redelivered', coalesceMs: 50 },
});
export const PRUNE_DELIVERIES_TASK = defineTask({
  ...COMMON,
  name: 'prune-deliveries',
  scope: 'cluster',
  period: 3_600_000,
  description: 'Deletes deliveries, identities and deleted webhooks that the settings do not keep.',
});
