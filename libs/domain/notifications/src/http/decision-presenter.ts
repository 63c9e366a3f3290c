import { HttpStatus } from '@nestjs/common';
import {
  alreadyDecided,
  type ChannelObstacle,
  type DecisionChoice,
  MAX_SHOWN_INPUT_BYTES,
  type SignedDecisionResult,
} from '#domain/runs';
import { maskSecrets, truncateUtf8 } from '#platform/kernel';
import type { OpenedDecision } from '../application/notification-decisions.js';
import type { DecisionForm, Message } from './decision-page.js';

const masked = (text: string): string => String(maskSecrets(text));

/** What the page of a button shows before the decision. All texts are masked like those of messages. */
export function decisionForm({ decision, webhook, subject }: OpenedDecision, error: string | null): DecisionForm {
  const { approval, run } = subject;
  const { choice, expiresAt } = decision;
  const isQuestion = approval.kind === 'question';
  const option = choice.kind === 'option' ? (approval.options[choice.index]?.name ?? '') : null;
  return {
    ...ACTS[choice.kind],
    runTitle: masked(run.title),
    requestLabel: isQuestion ? 'Question' : 'Request',
    request: masked(approval.title),
    input: isQuestion || approval.input === null ? null : inputOf(approval.input),
    answer: option === null ? null : masked(option),
    asksText: choice.kind === 'text',
    note: `The decision is recorded under the name of the notification webhook “${webhook.name}”: this page does not know who you are. It is open until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`,
    error,
  };
}

/** Complete where it can be allowed; a larger one can only be denied here. */
function inputOf(input: unknown): string {
  const shown = maskSecrets(input);
  const indented = JSON.stringify(shown, null, 2);
  if (indented.length <= MAX_SHOWN_INPUT_BYTES) return indented;
  const { text, truncated } = truncateUtf8(JSON.stringify(shown), MAX_SHOWN_INPUT_BYTES);
  return truncated ? `${text}…` : text;
}

const ACTS: Readonly<Record<DecisionChoice['kind'], Pick<DecisionForm, 'heading' | 'button'>>> = {
  allow: { heading: 'Allow this request?', button: { label: 'Allow', tone: 'good' } },
  deny: { heading: 'Deny this request?', button: { label: 'Deny', tone: 'bad' } },
  option: { heading: 'Send this answer?', button: { label: 'Send the answer', tone: 'neutral' } },
  text: { heading: 'Answer the question', button: { label: 'Send the answer', tone: 'neutral' } },
};

type Final = Exclude<SignedDecisionResult, { readonly kind: 'invalid' | 'not_valid' }>;

const HEADINGS: Readonly<Record<string, string>> = { allowed: 'Allowed', denied: 'Denied', answered: 'Answered' };
const OBSTACLES: Readonly<Record<ChannelObstacle, string>> = {
  environment:
    'The run works in an environment that is not one of the team. A person who may use it can decide in the console.',
  input: 'This page cannot show all of the request. It can be decided in the console.',
};

/** `isExpired`: the token; then the answer to a question is not shown any more. */
export function outcomeMessage(result: Final, isExpired: boolean): Message & { readonly status: number } {
  switch (result.kind) {
    case 'decided':
      return {
        status: HttpStatus.OK,
        heading: HEADINGS[result.outcome.state] ?? 'Decided',
        text: 'The decision was recorded, and the agent continues.',
      };
    case 'already_decided': {
      const { outcome } = result;
      const shown = isExpired ? { ...outcome, decision: outcome.state } : outcome;
      return { status: HttpStatus.CONFLICT, heading: 'Already decided', text: masked(alreadyDecided(shown)) };
    }
    case 'expired':
      return { status: HttpStatus.GONE, heading: 'Expired', text: 'This link has expired. Nothing was decided.' };
    case 'not_waiting':
      return {
        status: HttpStatus.CONFLICT,
        heading: 'Not waiting',
        text: 'The run does not wait for a decision any more. Nothing was decided.',
      };
    case 'not_allowed':
      return { status: HttpStatus.FORBIDDEN, heading: 'Not possible here', text: OBSTACLES[result.reason] };
  }
}
