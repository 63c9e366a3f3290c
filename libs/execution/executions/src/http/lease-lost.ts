import { ProblemError } from '#platform/http';

export function leaseLost(): ProblemError {
  return new ProblemError('lease_lost', 'The execution has ended or belongs to another lease: stop the agent at once.');
}
