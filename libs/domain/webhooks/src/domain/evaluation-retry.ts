/** Afterwards the delivery is recorded with an error. */
export const MAX_EVALUATION_ATTEMPTS = 20;

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Several times the time limit of a batch: after it the process that has claimed the delivery must have ended. */
const LEASE_MS = 15_000;

export interface EvaluationTries {
  readonly failures: number;
  /** Attempts without a recorded result, usually because the process ended. */
  readonly losses: number;
}

/** Milliseconds after the failed attempt with this number, from 1; null after the last. About two and a half hours in total. */
export function waitAfterFailure(attempt: number): number | null {
  return attempt >= MAX_EVALUATION_ATTEMPTS ? null : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
}

/**
 * Milliseconds of the lease of a claim, by the number of earlier attempts, from 0. After a lost attempt the lease is the
 * delay before the next one: as long as after a failure, so that a delivery that ends the process does so less and less
 * often.
 */
export const EVALUATION_LEASES_MS: readonly number[] = Array.from({ length: MAX_EVALUATION_ATTEMPTS + 1 }, (_, tries) =>
  Math.max(LEASE_MS, waitAfterFailure(tries + 1) ?? 0),
);

export const isExhausted = ({ failures, losses }: EvaluationTries): boolean =>
  failures + losses >= MAX_EVALUATION_ATTEMPTS;

export function abandonedReason({ failures, losses }: EvaluationTries): string {
  if (losses === 0) return `The evaluation failed ${times(failures)}; see the log of the service.`;
  const interrupted = `was interrupted ${times(losses)}, for example by the end of the process`;
  const failed = failures === 0 ? '' : `failed ${times(failures)} and `;
  return `The evaluation ${failed}${interrupted}; see the log of the service.`;
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
