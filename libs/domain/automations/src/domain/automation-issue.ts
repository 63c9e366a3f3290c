import { type Issue } from '#platform/kernel';

/** An issue of an automation, with a pointer into the automation as it is on the wire: `/triggers/0/filter/webhook_ids/0`. */
export interface AutomationIssue extends Issue {
  /** `not_authorized`: it refers to something that does not exist or that runs of the team may not use. */
  readonly kind: 'invalid' | 'not_authorized';
}

export const invalid = (pointer: string, detail: string): AutomationIssue => ({ pointer, detail, kind: 'invalid' });
