import { ProblemError } from '#libs/http';
import type { RunLookup } from '../application/run-access.js';
import type { Run } from '../domain/run.js';

export function unknownRun(): ProblemError {
  return new ProblemError('resource_not_found', 'There is no run with this id.');
}

export function notYours(): ProblemError {
  return new ProblemError('not_authorized', 'You have no access to this run, or your role does not allow this on it.');
}

export function foundOrThrow(lookup: RunLookup): Run {
  switch (lookup.kind) {
    case 'found':
      return lookup.run;
    case 'unknown':
      throw unknownRun();
    case 'not_yours':
      throw notYours();
  }
}
