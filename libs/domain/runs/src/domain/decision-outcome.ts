import type { Approval } from '#execution/executions';

/** How a request was decided, for people. */
export interface DecisionOutcome {
  readonly state: Approval['state'];
  /** `allowed`, `denied` or `answered: Blue`. Texts may come from an agent or a person: the reader escapes them. */
  readonly decision: string;
  /** The name of a person or channel, or what has decided instead. */
  readonly by: string;
  /** Null: not decided yet. */
  readonly at: Date | null;
}

const WITHOUT_PERSON: Readonly<Record<string, string>> = {
  rule: 'a rule of the run',
  timeout: 'the timeout',
  cancel: 'the end of the turn',
};

/** `person`: the name of a user or service account; null: unknown, or another has decided. */
export function outcomeOf(
  { state, answer, decided_via: via, decided_by_name: channel, decided_at: at }: Approval,
  person: string | null,
): DecisionOutcome {
  const words = [answer?.option, answer?.text].filter((part) => part !== undefined && part !== '').join(': ');
  return {
    state,
    decision: state === 'answered' && words !== '' ? `${state}: ${words}` : state,
    by: channel ?? person ?? WITHOUT_PERSON[via ?? ''] ?? 'a user',
    at,
  };
}

/** One sentence, such as “Already decided by Ann at 2026-11-27 12:00 UTC: allowed.” */
export const alreadyDecided = ({ decision, by, at }: DecisionOutcome): string =>
  `Already decided by ${by}${at === null ? '' : ` at ${timeOf(at)}`}: ${decision}.`;

const timeOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
