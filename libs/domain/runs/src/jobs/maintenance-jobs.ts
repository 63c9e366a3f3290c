import { defineTask } from '#platform/jobs';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const COMMON = {
  library: 'runs',
  process: 'processor',
  scope: 'cluster',
  queue: { name: 'runs-maintenance', options: { concurrency: 1, runRetryDelay: 1000 } },
} as const;

export const PRUNE_IDEMPOTENCY_KEYS_TASK = defineTask({
  ...COMMON,
  name: 'prune-idempotency-keys',
  period: HOUR_MS,
  description: 'Deletes idempotency keys older than `IDEMPOTENCY_KEY_TTL`, and those of launches after 30 days.',
});
export const PRUNE_RUNS_TASK = defineTask({
  ...COMMON,
  name: 'prune-runs',
  period: HOUR_MS,
  description: 'Deletes what the retention settings do not keep, for at most ten minutes at a time.',
});
export const REPAIR_FACETS_TASK = defineTask({
  ...COMMON,
  name: 'repair-run-facets',
  period: 5 * MINUTE_MS,
  description: 'Completes runs that a process of an older version has created.',
});
export const ENSURE_PARTITIONS_TASK = defineTask({
  ...COMMON,
  name: 'ensure-event-partitions',
  period: HOUR_MS,
  description: 'Creates the partitions of the event log for the next three months.',
});
