/** Then the delivery is recorded with an error, so that it does not come up for ever. */
export const MAX_EVALUATION_ATTEMPTS = 10;

const FIRST_WAIT_MS = 1000;

/** Milliseconds from the failed attempt with this number, from 1, to the next; null after the last. About 8.5 minutes in all. */
export function waitAfterFailure(attempt: number): number | null {
  return attempt >= MAX_EVALUATION_ATTEMPTS ? null : FIRST_WAIT_MS * 2 ** (attempt - 1);
}
