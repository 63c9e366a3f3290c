import { type Issue, issueSentence, issueSentences, type Rejection, type RejectionOf } from '#platform/kernel';
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

type Outcome = { readonly kind: string };
type OutcomeOf<T extends Outcome, Kind> = Extract<T, { readonly kind: Kind }>;

/** Also the problems of the rejections `Own` of one kind of resource; a shared one among them replaces the shared text. */
export interface ResourceProblems<Own extends Outcome> extends ResourceWords {
  readonly problems: { readonly [Kind in Own['kind']]: (rejection: OutcomeOf<Own, Kind>) => ProblemError };
}

/** The one mapping from expected outcomes to problem documents. */
const SHARED: {
  readonly [Kind in Rejection['kind']]: (rejection: RejectionOf<Kind>, words: ResourceWords) => ProblemError;
} = {
  not_found: (_, { noun }) => notFound(noun),
  forbidden: (_, { noun }) => forbidden(noun),
  team_required: () => teamRequired(),
  limit_reached: ({ limit }, { owner = 'A team', plural }) => limitReached(owner, limit, plural),
  name_taken: (_, { noun }) =>
    invalidInput([{ pointer: '/name', detail: `is the name of another ${noun} of the team` }]),
  invalid_cursor: (_, { plural }) => invalidCursor(`a list of ${plural}`),
  invalid: ({ issues }) => invalidInput(issues),
  not_accessible: ({ issues }) => inaccessibleReferences(issues),
  too_large: (issue) => tooLarge(issue),
};

/** Throws the problem of a rejection: `toScheduleItem(unwrap(await this.schedules.get(caller, uid), SCHEDULE))`. */
export function unwrap<R extends object, Own extends Outcome = never>(
  result: R,
  words: ResourceWords | ResourceProblems<Own>,
): Exclude<R, { readonly kind: Rejection['kind'] | Own['kind'] }> {
  type Problems = Readonly<Record<string, (rejection: R, words: ResourceWords) => ProblemError>>;
  const problems = { ...SHARED, ...('problems' in words && words.problems) } as unknown as Problems;
  const kind = 'kind' in result && typeof result.kind === 'string' ? result.kind : '';
  const problemOf = Object.hasOwn(problems, kind) ? problems[kind] : undefined;
  if (problemOf) throw problemOf(result, words);
  return result as Exclude<R, { readonly kind: Rejection['kind'] | Own['kind'] }>;
}

/** For a rejection that is not the result of a service, or one among the outcomes that a handler maps itself. */
export const rejectionProblem = (rejection: Rejection, words: ResourceWords): ProblemError =>
  SHARED[rejection.kind](rejection as never, words);

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
