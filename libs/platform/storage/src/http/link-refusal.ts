import { ProblemError } from '#platform/http';

/** Why a signed link is not accepted. */
export function linkRefusal(reason: 'expired' | 'forged', kind: 'download' | 'upload'): ProblemError {
  const detail =
    reason === 'expired'
      ? `The ${kind} link has expired. Request a new one.`
      : `The ${kind} link is invalid: it is not one that this service made, or it was changed.`;
  return new ProblemError('not_authorized', detail);
}
