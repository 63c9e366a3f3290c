/** One thing that is wrong with what was given: an RFC 6901 pointer into the body, and the rule. */
export interface FieldIssue {
  readonly pointer: string;
  /** Completes "`field` …". */
  readonly detail: string;
}
