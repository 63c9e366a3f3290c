import { defineJob } from '#platform/jobs';

/** Deletes objects that were discarded and whose links have expired. */
export const SWEEP_DISCARDED_OBJECTS_JOB = defineJob<Record<string, never>>('storage', 'sweep-discarded-objects');
