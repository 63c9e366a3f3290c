import { fieldName } from './json.js';

/** One rule that an input breaks. */
export interface Issue {
  /** RFC 6901 pointer into the body, or `/parameter` of the query; empty for the whole. */
  readonly pointer: string;
  /** Completes "`field` …", as in `must not be empty`. */
  readonly detail: string;
}

/** The same issues, seen from the value that holds the checked one under the pointer `at`. */
export const prefixIssues = <T extends Issue>(at: string, issues: readonly T[]): T[] =>
  issues.map((issue) => ({ ...issue, pointer: at + issue.pointer }));

/** An issue as a sentence: `` `config.skills[0]` must not be empty. `` */
export const issueSentence = ({ pointer, detail }: Issue, whole = 'The body'): string =>
  `${pointer === '' ? whole : `\`${fieldName(pointer)}\``} ${detail}.`;

const MAX_SENTENCES = 5;

/** Issues as sentences; of those beyond the fifth only the number. */
export function issueSentences(issues: readonly Issue[]): string {
  const sentences = issues.slice(0, MAX_SENTENCES).map((issue) => issueSentence(issue));
  if (issues.length > MAX_SENTENCES) sentences.push(`${issues.length - MAX_SENTENCES} more.`);
  return sentences.join(' ');
}

/** The expected outcomes of every kind of resource; `rejectionProblem` of `#platform/http` maps them to problem documents. */
export type Rejection =
  /** Also for a resource whose existence the caller may not know. */
  | { readonly kind: 'not_found' }
  /** The caller may know the resource and does not have the permission. */
  | { readonly kind: 'forbidden' }
  /** The caller is a member of several teams and selected none. */
  | { readonly kind: 'team_required' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  /** Another resource of the team has the name. */
  | { readonly kind: 'name_taken' }
  /** The page cursor is malformed, or belongs to another list. */
  | { readonly kind: 'invalid_cursor' }
  | { readonly kind: 'invalid'; readonly issues: readonly Issue[] }
  /** The input refers to what does not exist or may not be used by the caller; the two are not distinguished. */
  | { readonly kind: 'not_accessible'; readonly issues: readonly Issue[] }
  | ({ readonly kind: 'too_large' } & Issue);
export type RejectionOf<Kind extends Rejection['kind']> = Extract<Rejection, { kind: Kind }>;

/**
 * The detail of an issue for a reference that cannot be followed. The text is the same for what does not exist and for what
 * the caller may not use, so that it does not reveal which; `noun` comes with its article.
 */
export const notAccessible = (noun: string): string => `names ${noun} that was not found or is not accessible`;
