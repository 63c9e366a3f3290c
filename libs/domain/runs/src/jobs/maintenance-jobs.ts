import { defineJob } from '#platform/jobs';

/** Forgets idempotency keys that are older than the setting says. */
export const PRUNE_IDEMPOTENCY_KEYS_JOB = defineJob<Record<string, never>>(
  'runs-maintenance',
  'prune-idempotency-keys',
);
/** Prunes what the retention settings no longer keep. */
export const PRUNE_RUNS_JOB = defineJob<Record<string, never>>('runs-maintenance', 'prune-runs');
/** Completes runs that a process of an older version has created. */
export const REPAIR_FACETS_JOB = defineJob<Record<string, never>>('runs-maintenance', 'repair-run-facets');
/** Makes the event log's partitions of the coming months. */
export const ENSURE_PARTITIONS_JOB = defineJob<Record<string, never>>('runs-maintenance', 'ensure-event-partitions');
