import type { AnswerTarget, ReactionSubject } from '#domain/answers';
import type { ForgeEvent } from './forge-events/forge-event.js';
import { numberAt } from './forge-events/payload-fields.js';
import { valueAt } from './placeholders.js';
import { SLACK, type SlackEvent, type SlackMessageEvent } from './slack-events/slack-event.js';
import type { TriggerEvent } from './trigger.js';

export interface AnswerPlace {
  readonly target: AnswerTarget & { readonly host: string };
  /** Null: the forge has no reactions to what has caused the event, or no person has. */
  readonly reaction: ReactionSubject | null;
}

/** Where runs for an event show what they do; null: the event is not of an issue, pull request or thread. */
export function answerPlaceOf(received: TriggerEvent): AnswerPlace | null {
  const { provider, details } = received;
  if (provider === SLACK) {
    const event = details as SlackEvent;
    // A command has no thread; its sender gets a response.
    return event.event === 'command' ? null : placeInSlack(event);
  }
  if (provider !== 'github' && provider !== 'gitlab') return null;
  const { event, host, repository, target } = details as ForgeEvent;
  // Members only can read the comment, and others could read the answer.
  if (isConfidential(received.readPayload())) return null;
  const { kind, id: number } = target;
  if (kind !== 'issue' && kind !== 'pull_request') return null;
  return {
    target: { provider, host, repository, kind, number },
    reaction: reactionOf(event, numberAt(received.readPayload(), ...COMMENT_ID[provider])),
  };
}

const placeInSlack = ({ team, channel, threadTs, ts }: SlackMessageEvent): AnswerPlace => ({
  target: {
    provider: SLACK,
    host: '',
    repository: `${team}/${channel}`,
    kind: 'thread',
    number: threadTs.replace('.', ''),
  },
  reaction: `message/${ts}`,
});

const isConfidential = (payload: unknown): boolean =>
  valueAt(payload, ['event_type']) === 'confidential_note' ||
  valueAt(payload, ['object_attributes', 'internal']) === true;

const COMMENT_ID = { github: ['comment', 'id'], gitlab: ['object_attributes', 'id'] } as const;

function reactionOf(event: ForgeEvent['event'], commentId: string | null): ReactionSubject | null {
  switch (event) {
    case 'issue_commented':
    case 'pull_request_commented':
      return commentId === null ? null : `comment/${commentId}`;
    case 'pull_request_review_commented':
      return commentId === null ? null : `review_comment/${commentId}`;
    // A review has no reactions.
    case 'pull_request_reviewed':
    case 'check_failed':
    case 'workflow_failed':
      return null;
    default:
      return 'target';
  }
}
