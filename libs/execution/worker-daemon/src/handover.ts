import type { RunnerPlace } from '#execution/backends';
import type { RunnerHandover } from '#execution/runner-protocol';
import { EXECUTION_ENV, type TaskAssignmentData } from '#execution/worker-protocol';
import type { WorkerOptions } from './options/read-worker-options.js';

/**
 * With a lease of 90 s, of which a runner uses 80: the last heartbeat before an interruption of 60 s is at most 9 s old, and
 * the first one after it is answered within 11 s, even if a request still hangs.
 */
const BEATS_PER_LEASE = 12;

/** The hand-over of an execution. The runner gets everything else, including secrets, with its claim. */
export function handoverFor(
  { serverRootUrl, limits, harnesses, git }: WorkerOptions,
  { execution_id: executionId, env_vars: variables }: TaskAssignmentData,
  marker: string,
  place: RunnerPlace,
): RunnerHandover {
  return {
    base_url: `${serverRootUrl}/api/v1`,
    execution_id: executionId,
    token: variables?.[EXECUTION_ENV.executionToken] ?? '',
    marker,
    limits,
    beats_per_lease: BEATS_PER_LEASE,
    harnesses: { ...harnesses },
    git: { clone_timeout_seconds: git.clone_timeout_seconds, max_repository_bytes: git.max_repository_bytes },
    ...place,
  };
}
