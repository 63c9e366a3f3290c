import { defineJob } from '#platform/jobs';

/** "A delivery waits to be evaluated": a deduplicated nudge; the queue itself is `webhook_deliveries`. */
export const EVALUATE_DELIVERIES_JOB = defineJob<Record<string, never>>('webhooks', 'evaluate-deliveries');
/** Forgets deliveries, identities and deleted webhooks that nothing keeps any longer. */
export const PRUNE_DELIVERIES_JOB = defineJob<Record<string, never>>('webhooks', 'prune-deliveries');
