/** Then the delivery is recorded with an error, so that it does not come up for ever. */
export const MAX_EVALUATION_ATTEMPTS = 20;

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15 * 60_000;

/** Milliseconds from the failed attempt with this number, from 1, to the next; null after the last. About two and a half hours in all. */
export function waitAfterFailure(attempt: number): number | null {
  return attempt >= MAX_EVALUATION_ATTEMPTS ? null : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
}
