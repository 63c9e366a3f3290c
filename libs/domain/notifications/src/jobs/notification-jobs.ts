import { defineJob } from '#platform/jobs';

/** "There may be something to send": a deduplicated nudge; the queue itself is `notification_deliveries`. */
export const SEND_NOTIFICATIONS_JOB = defineJob<Record<string, never>>('notifications', 'send-notifications');
/** Forgets deliveries that ended longer ago than the setting says. */
export const PRUNE_DELIVERIES_JOB = defineJob<Record<string, never>>('notifications', 'prune-deliveries');
