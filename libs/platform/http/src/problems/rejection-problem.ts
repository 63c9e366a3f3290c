import { type Issue, issueSentence, issueSentences, type Rejection } from '#platform/kernel';
import { ProblemError } from './problem-error.js';

/** The words that problem documents need about a kind of resource. */
export interface ResourceWords {
  /** `agent identity` */
  readonly noun: string;
  /** `agent identities` */
  readonly plural: string;
  /** Whose number of them is limited: `A team`. */
  readonly owner?: string;
}

/** The one mapping from expected outcomes to problem documents. */
export function rejectionProblem(rejection: Rejection, { noun, plural, owner }: ResourceWords): ProblemError {
  switch (rejection.kind) {
    case 'not_found':
      return notFound(noun);
    case 'forbidden':
      return forbidden(noun);
    case 'team_required':
      return teamRequired();
    case 'limit_reached':
      return limitReached(owner ?? 'A team', rejection.limit, plural);
    case 'name_taken':
      return invalidInput([{ pointer: '/name', detail: `is the name of another ${noun} of the team` }]);
    case 'invalid_cursor':
      return invalidCursor(`a list of ${plural}`);
    case 'invalid':
      return invalidInput(rejection.issues);
    case 'not_accessible':
      return inaccessibleReferences(rejection.issues);
    case 'too_large':
      return tooLarge(rejection);
  }
}

/** What a use case returned; throws the problem of a rejection. */
export function valueOrThrow<Value extends object>(result: Value | Rejection, words: ResourceWords): Value {
  if (isRejection(result)) throw rejectionProblem(result, words);
  return result;
}

const isRejection = <Value extends object>(result: Value | Rejection): result is Rejection => 'kind' in result;

export const notFound = (noun: string): ProblemError =>
  new ProblemError('resource_not_found', `${noun.charAt(0).toUpperCase()}${noun.slice(1)} not found.`);

export const forbidden = (noun: string): ProblemError =>
  new ProblemError(
    'not_authorized',
    `You have no access to this ${noun}, or your role does not permit this operation.`,
  );

export const teamRequired = (): ProblemError =>
  new ProblemError(
    'invalid_request',
    'A team is required: a member of several teams selects one with the X-Headrace-Team-Uid header.',
  );

export const limitReached = (owner: string, limit: number, plural: string): ProblemError =>
  new ProblemError('limit_reached', `${owner} can have at most ${limit} ${plural}.`);

/** `list` completes "is not a cursor of …". */
export function invalidCursor(list: string): ProblemError {
  const detail = `is not a cursor of ${list}`;
  return new ProblemError('invalid_request', `Query parameter \`cursor\` ${detail}.`, {
    errors: [{ pointer: '/cursor', detail }],
  });
}

export const invalidInput = (errors: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', issueSentences(errors), { errors });

export const inaccessibleReferences = (errors: readonly Issue[]): ProblemError =>
  new ProblemError('not_authorized', issueSentences(errors), { errors });

export const tooLarge = (issue: Issue): ProblemError =>
  new ProblemError('payload_too_large', issueSentence(issue), { errors: [issue] });
