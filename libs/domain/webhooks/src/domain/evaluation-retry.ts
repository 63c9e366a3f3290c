/** Then the delivery is recorded with an error, so that it does not come up for ever. */
export const MAX_EVALUATION_ATTEMPTS = 20;

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15 * 60_000;
/** Several times what the evaluation of a batch may take. Whoever has taken a delivery is not heard of again afterwards. */
const LEASE_MS = 15_000;

/** What has become of the attempts to evaluate a delivery before this one. */
export interface EvaluationTries {
  /** Attempts that failed. */
  readonly failures: number;
  /** Attempts that were cut off, so that no end was recorded: as a rule, the process died in the middle of them. */
  readonly losses: number;
}

/** Milliseconds from the failed attempt with this number, from 1, to the next; null after the last. About two and a half hours in all. */
export function waitAfterFailure(attempt: number): number | null {
  return attempt >= MAX_EVALUATION_ATTEMPTS ? null : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
}

/**
 * Milliseconds for which nobody else takes a delivery, by the number of its attempts so far, from 0. If the one that has
 * taken it is lost, this was the wait: as long as after a failure, so that a delivery that kills who evaluates it does so
 * ever more rarely.
 */
export const EVALUATION_LEASES_MS: readonly number[] = Array.from({ length: MAX_EVALUATION_ATTEMPTS + 1 }, (_, tries) =>
  Math.max(LEASE_MS, waitAfterFailure(tries + 1) ?? 0),
);

/** Whether none is left. */
export const isExhausted = ({ failures, losses }: EvaluationTries): boolean =>
  failures + losses >= MAX_EVALUATION_ATTEMPTS;

/** Why a delivery was given up, for those who read its log. */
export function givenUpReason({ failures, losses }: EvaluationTries): string {
  if (losses === 0) return `The evaluation failed ${times(failures)}; the service's log says why.`;
  const cutOff = `was cut off ${times(losses)}, as by the end of the process in the middle of it`;
  const failed = failures === 0 ? '' : `failed ${times(failures)} and `;
  return `The evaluation ${failed}${cutOff}; the service's log says more.`;
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
