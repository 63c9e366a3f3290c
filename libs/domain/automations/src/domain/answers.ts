import type { Issue } from '#platform/kernel';
import type { AnswerPart } from '#domain/answers';

/** What runs show at the issue, pull request or thread of their event. */
export interface AutomationAnswers extends Readonly<Record<AnswerPart, boolean>> {
  /** The managed secret of the team with the token for answers in Slack. Absent: there are none. */
  readonly secretName?: string;
  /** In Slack, everybody in the channel may decide requests of the run by buttons. */
  readonly decisions?: true;
}

type GivenAnswers = Partial<Record<AnswerPart, boolean>> & {
  readonly secretName?: string | undefined;
  readonly decisions?: boolean | undefined;
};

/** Null: all parts, and nothing in Slack. */
export function automationAnswers(given: GivenAnswers | null | undefined): AutomationAnswers | null {
  const { comment = true, check = true, reaction = true, secretName, decisions = false } = given ?? {};
  if (comment && check && reaction && secretName === undefined && !decisions) return null;
  return {
    comment,
    check,
    reaction,
    ...(secretName !== undefined && { secretName }),
    ...(decisions && { decisions }),
  };
}

export function answersIssues(answers: AutomationAnswers | null): readonly Issue[] {
  if (answers?.decisions !== true) return [];
  if (answers.secretName === undefined)
    return [{ pointer: '/answers/decisions', detail: 'needs secret_name: without a token there is no message' }];
  if (!answers.comment) return [{ pointer: '/answers/decisions', detail: 'needs comment: the buttons are part of it' }];
  return [];
}

const PARTS = ['comment', 'check', 'reaction'] as const satisfies readonly AnswerPart[];

export const partsOf = (answers: AutomationAnswers | null): readonly AnswerPart[] =>
  PARTS.filter((part) => answers?.[part] ?? true);
