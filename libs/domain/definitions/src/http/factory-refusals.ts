import { unknownFactory } from '#domain/factories';
import { invalidCursor, ProblemError } from '#platform/http';
import { createRunRefusal } from '#domain/runs';
import type { DispatchRunResult } from '../application/dispatch-run.js';

export const badCursor = (): ProblemError => invalidCursor('this list with this `query`');

/** The answer when nothing was dispatched. */
export function dispatchRefusal(refused: Exclude<DispatchRunResult, { kind: 'dispatched' }>): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return unknownFactory();
    case 'forbidden':
      return new ProblemError('not_authorized', 'Your role on the factory’s team does not allow creating runs.');
    case 'foreman_missing':
      return new ProblemError(
        'operation_not_supported',
        'The factory’s foreman was deleted or is not available: apply the factory’s definition again, or make the agent identity available.',
      );
    case 'unusable_settings':
      return new ProblemError(
        'operation_not_supported',
        `What the factory starts its agents with cannot be used: ${refused.reason}`,
      );
    case 'invalid':
    case 'unavailable':
    case 'key_reused':
      return createRunRefusal(refused);
  }
}
