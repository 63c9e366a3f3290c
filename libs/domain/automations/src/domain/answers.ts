import type { AnswerPart } from '#domain/answers';

/** What runs show at the issue or pull request of their event. */
export type AutomationAnswers = Readonly<Record<AnswerPart, boolean>>;

/** Null: all parts. */
export function automationAnswers(given: Partial<AutomationAnswers> | null | undefined): AutomationAnswers | null {
  const { comment = true, check = true, reaction = true } = given ?? {};
  return comment && check && reaction ? null : { comment, check, reaction };
}

const PARTS = ['comment', 'check', 'reaction'] as const satisfies readonly AnswerPart[];

export const partsOf = (answers: AutomationAnswers | null): readonly AnswerPart[] =>
  PARTS.filter((part) => answers?.[part] ?? true);
