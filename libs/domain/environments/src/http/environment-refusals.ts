import { forbidden, inaccessibleReferences, invalidInput, notFound, type ProblemError } from '#platform/http';
import { prefixIssues } from '#platform/kernel';
import type { ReferenceFaults } from '../application/environment-references.js';
import type { EnvironmentRefusal } from '../application/find-environment.js';

export const environmentRefusal = ({ kind }: EnvironmentRefusal): ProblemError =>
  kind === 'unknown' ? notFound('environment') : forbidden('environment');

/** What a configuration refers to and cannot use. */
export function referenceRefusal({ kind, faults }: Exclude<ReferenceFaults, { kind: 'none' }>): ProblemError {
  const errors = prefixIssues('/config', faults);
  return kind === 'invalid' ? invalidInput(errors) : inaccessibleReferences(errors);
}

/** Variables that are to keep a value that they do not have. */
export const nothingToKeep = (names: readonly string[]): ProblemError =>
  invalidInput(
    names.map((name) => ({
      pointer: `/config/env/${name}`,
      detail: 'must be sent in clear: *** keeps a stored value, and none is stored',
    })),
  );
