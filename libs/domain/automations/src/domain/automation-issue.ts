/** Something wrong with an automation as it was given. */
export interface AutomationIssue {
  /** JSON pointer into the automation as on the wire: `/triggers/0/filter/webhook_ids/0`. */
  readonly pointer: string;
  /** Continues the sentence that the field's name begins: “must be …”. */
  readonly detail: string;
  /** `not_authorized`: it names something that is not there, or that runs of the team may not use. */
  readonly kind: 'invalid' | 'not_authorized';
}

/** What is wrong below `at`, seen from above. */
export const below = <T extends { readonly pointer: string }>(at: string, issues: readonly T[]): T[] =>
  issues.map((issue) => ({ ...issue, pointer: `${at}${issue.pointer}` }));

export const invalid = (pointer: string, detail: string): AutomationIssue => ({ pointer, detail, kind: 'invalid' });
