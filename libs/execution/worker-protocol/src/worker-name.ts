export const MAX_WORKER_NAME_LENGTH = 256;
/** `warp` stands for the service's own workers, so no other name may begin with it. */
const RESERVED_PREFIX = /^warp/i;
// Anything that a person may want to call a machine, except what cannot be seen or stored.
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFD]|^\s|\s$/u;

export type WorkerNameFault =
  { readonly kind: 'missing' | 'reserved' } | { readonly kind: 'unfit'; readonly detail: string };

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
