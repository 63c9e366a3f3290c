import { MAX_WORKER_NAME_LENGTH, workerNameFault } from './worker-name.js';

/** As `worker_host`: the service's own workers. Exactly so; other spellings name nobody. */
export const HOSTED_WORKERS = 'warp';

/**
 * What is wrong with a `worker_host`, completing "`worker_host` …"; null when nothing is. A name that no worker can connect
 * with is wrong: a run would wait for it for ever.
 */
export function workerHostFault(host: string): string | null {
  if (host === HOSTED_WORKERS) return null;
  const fault = workerNameFault(host);
  switch (fault?.kind) {
    case undefined:
      return null;
    case 'missing':
      return 'must not be blank';
    case 'reserved':
      return 'must be exactly `warp`, for hosted workers, or a name that does not begin with it, in any case';
    case 'unfit':
      return [...host].length > MAX_WORKER_NAME_LENGTH
        ? `must not exceed ${MAX_WORKER_NAME_LENGTH} characters`
        : 'must neither begin or end with a space nor have an invisible character';
  }
}
