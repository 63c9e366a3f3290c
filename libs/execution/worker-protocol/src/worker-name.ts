export const MAX_WORKER_NAME_LENGTH = 256;
/** `warp` stands for the service's own workers, so no other name may begin with it. */
const RESERVED_PREFIX = /^warp/i;
// Anything that a person may want to call a machine, except what cannot be seen or stored.
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFD]|^\s|\s$/u;

type WorkerNameFault = { readonly kind: 'missing' | 'reserved' } | { readonly kind: 'unfit'; readonly detail: string };

/** What is wrong with a worker's name; null when nothing is. */
export function workerNameFault(name: string | null | undefined): WorkerNameFault | null {
  if (name === null || name === undefined || name.trim() === '') return { kind: 'missing' };
  if (RESERVED_PREFIX.test(name)) return { kind: 'reserved' };
  if ([...name].length > MAX_WORKER_NAME_LENGTH) {
    return { kind: 'unfit', detail: `is longer than ${MAX_WORKER_NAME_LENGTH} characters` };
  }
  if (UNFIT.test(name)) return { kind: 'unfit', detail: 'begins or ends with a space, or has an invisible character' };
  return null;
}

/** As `worker_host`: the service's own workers. Exactly so; other spellings name nobody. */
export const HOSTED_WORKERS = 'warp';

/**
 * What is wrong with a `worker_host`, completing "`worker_host` …"; null when nothing is. A name that no worker can connect
 * with is wrong: a run would wait for it without limit.
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
