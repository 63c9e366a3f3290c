import { defineJob } from '#platform/jobs';

/** "There may be something to place": a deduplicated nudge; the queue itself is `runs.state = 'QUEUED'`. */
export const PLACE_RUNS_JOB = defineJob<Record<string, never>>('placement', 'place-runs');
