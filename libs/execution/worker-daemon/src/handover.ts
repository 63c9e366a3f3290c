import type { RunnerHandover } from '#execution/runner-protocol';
import { EXECUTION_ENV, type TaskAssignmentData } from '#execution/worker-protocol';
import type { RunnerPlace } from './backend.js';
import type { WorkerOptions } from './options/read-worker-options.js';

/**
 * With a lease of 90 s, of which a runner uses 80: the last beat before a cut of 60 s is 9 s old at most, and the first one
 * after it, with a request that still hangs, is answered within 11 s.
 */
const BEATS_PER_LEASE = 12;

/** The hand-over of an execution. Whatever else the run needs, its secrets among them, the runner gets with its own claim. */
export function handoverFor(
  { serverRootUrl, limits, harnesses, git }: WorkerOptions,
  { execution_id: executionId, env_vars: variables }: TaskAssignmentData,
  cookie: string,
  place: RunnerPlace,
): RunnerHandover {
  return {
    base_url: `${serverRootUrl}/api/v1`,
    execution_id: executionId,
    token: variables?.[EXECUTION_ENV.executionToken] ?? '',
    cookie,
    limits,
    beats_per_lease: BEATS_PER_LEASE,
    harnesses: { ...harnesses },
    git: { clone_timeout_seconds: git.cloneTimeoutSeconds, max_repository_bytes: git.maxRepositoryBytes },
    ...place,
  };
}
