import { type Issue, ProblemError } from '#platform/http';
import type { ReferenceFaults } from '../application/environment-references.js';
import type { EnvironmentRefusal } from '../application/find-environment.js';

export const environmentRefusal = ({ kind }: EnvironmentRefusal): ProblemError =>
  kind === 'unknown'
    ? new ProblemError('resource_not_found', 'Environment not found.')
    : new ProblemError('not_authorized', 'The environment is not yours, or your role does not allow this.');

/** `/config/env/A` as people write it: `config.env.A`. */
const nameOf = (pointer: string): string => `\`${pointer.slice(1).replaceAll('/', '.')}\``;

export const invalidFields = (errors: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', errors.map(({ pointer, detail }) => `${nameOf(pointer)} ${detail}.`).join(' '), {
    errors,
  });

/** What a configuration names and cannot have. */
export function referenceRefusal({ kind, faults }: Exclude<ReferenceFaults, { kind: 'none' }>): ProblemError {
  const errors = faults.map(({ pointer, detail }) => ({ pointer: `/config${pointer}`, detail }));
  if (kind === 'invalid') return invalidFields(errors);
  const said = errors.map(({ pointer, detail }) => `${nameOf(pointer)} ${detail}.`).join(' ');
  return new ProblemError('not_authorized', said, { errors });
}

/** Variables that are to keep a value that they do not have. */
export const nothingToKeep = (names: readonly string[]): ProblemError =>
  invalidFields(
    names.map((name) => ({
      pointer: `/config/env/${name}`,
      detail: 'must be sent in clear: *** keeps a stored value, and there is none',
    })),
  );
