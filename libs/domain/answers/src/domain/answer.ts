import type { RunSourceType, RunState } from '#domain/runs';

/** `comment`: one on the issue or pull request, or a message in the thread. `check`: on the head commit of the pull request. `reaction`: the receipt. */
export const ANSWER_PARTS = ['comment', 'check', 'reaction'] as const;
export type AnswerPart = (typeof ANSWER_PARTS)[number];

export const REACTION = 'eyes';

/** Comments that the agent of one run can ask for. */
export const MAX_COMMENTS = 10;
/** Characters. */
export const MAX_COMMENT_TEXT = 10_000;

/** The issue, pull request or thread that a run works on. */
export interface AnswerTarget {
  readonly provider: 'github' | 'gitlab' | 'slack';
  /** `acme/service`; on GitLab with all its groups; in Slack workspace and channel, `T061EG9R6/C024BE91L`. */
  readonly repository: string;
  readonly kind: 'issue' | 'pull_request' | 'thread';
  /** Of a thread: {@link numberOfThread}. */
  readonly number: string;
}

/** The id of the first message of a thread, such as `1355517523.000005`, as a number. */
export const numberOfThread = (ts: string): string => String(BigInt(ts.replace('.', '')));
export const threadOfNumber = (number: string): string => `${number.slice(0, -6)}.${number.slice(-6)}`;

/** For people. */
export const placeOf = ({ provider, repository, number }: AnswerTarget): string =>
  provider === 'slack' ? `${repository}/${threadOfNumber(number)}` : `${repository}#${number}`;

/** `target`, `comment/12`, `review_comment/12` or `message/1355517523.000005`: what a reaction is added to. */
export type ReactionSubject = 'target' | `${'comment' | 'review_comment' | 'message'}/${string}`;

/** Of a thread: the settings of the automation that has started or continued the run last. */
export interface AnswerChat {
  /** The managed secret with the token. */
  readonly secretName: string;
  readonly automationUid: string;
  /** Whether the message has buttons that decide. */
  readonly decisions: boolean;
}

/** A row that this process has leased. */
export interface ClaimedAnswer extends AnswerTarget {
  readonly id: string;
  readonly runId: string;
  readonly lease: string;
  /** Number of this attempt, from 1. */
  readonly attempts: number;
  readonly changes: string;
  readonly parts: readonly AnswerPart[];
  readonly reactions: readonly ReactionSubject[];
  /** What has got the receipt, and gets another reaction when the run has ended. */
  readonly acknowledged: readonly ReactionSubject[];
  readonly chat: AnswerChat | null;
  readonly mark: string;
  readonly createdAt: Date;
  readonly commentId: string | null;
  readonly commentHash: string | null;
  readonly checkId: string | null;
  readonly checkSha: string | null;
  readonly checkHash: string | null;
}

export interface PendingApproval {
  readonly id: string;
  readonly kind: 'permission' | 'question';
  readonly title: string;
  /** What would be allowed. */
  readonly input: unknown;
  readonly options: readonly { readonly name: string }[];
  readonly allowsText: boolean;
  readonly expiresAt: Date;
}

export interface ChatDecision {
  readonly state: 'allowed' | 'denied' | 'answered';
  /** The option of an answer. */
  readonly option: string | null;
  /** Workspace and user, `T061EG9R6/U061F7AUR`. */
  readonly by: string;
}

export interface AnsweredPullRequest {
  readonly url: string;
  readonly status: string | null;
}

/** What answers show of a run. */
export interface AnsweredRun {
  readonly id: string;
  /** Null: of somebody who did not write it for the issue or pull request. */
  readonly title: string | null;
  /** What the run does now is for an event that its answers show; otherwise they have its state only. */
  readonly isForEvent: boolean;
  readonly state: RunState;
  readonly statusMessage: string | null;
  /** The oldest request that waits for a person. */
  readonly approval: PendingApproval | null;
  /** The last decision that a user of a chat service has made. */
  readonly chatDecision: ChatDecision | null;
  /** The newest one last. */
  readonly pullRequests: readonly AnsweredPullRequest[];
  /** The last message of the agent; null: none, or the run has not ended. */
  readonly result: string | null;
}

interface StateText {
  /** Follows the title. */
  readonly sentence: string;
  readonly heading: string;
}

export const STATE_TEXTS: Readonly<Record<RunState, StateText>> = {
  QUEUED: { sentence: 'waits to start', heading: 'Queued' },
  PENDING: { sentence: 'waits to start', heading: 'Queued' },
  CLAIMED: { sentence: 'starts', heading: 'Starting' },
  INPROGRESS: { sentence: 'is working', heading: 'In progress' },
  BLOCKED: { sentence: 'waits for a decision', heading: 'Waits for a decision' },
  SUCCEEDED: { sentence: 'has succeeded', heading: 'Succeeded' },
  FAILED: { sentence: 'has failed', heading: 'Failed' },
  ERROR: {
    sentence: 'has failed because of an error of the platform',
    heading: 'Failed because of an error of the platform',
  },
  CANCELLED: { sentence: 'was cancelled', heading: 'Cancelled' },
};

const ENDINGS: Readonly<Partial<Record<RunState, 'success' | 'failure' | 'cancelled'>>> = {
  SUCCEEDED: 'success',
  FAILED: 'failure',
  ERROR: 'failure',
  CANCELLED: 'cancelled',
};
const STARTING: ReadonlySet<RunState> = new Set(['QUEUED', 'PENDING', 'CLAIMED']);

export interface CheckUpdate {
  readonly name: string;
  readonly state: 'queued' | 'in_progress' | 'success' | 'failure' | 'cancelled';
  /** The page of the run. */
  readonly url: string;
  /** In one line. */
  readonly title: string;
  readonly summary: string;
}

export const checkStateOf = (state: RunState): CheckUpdate['state'] =>
  ENDINGS[state] ?? (STARTING.has(state) ? 'queued' : 'in_progress');

export const isFinal = ({ state }: CheckUpdate): boolean => state !== 'queued' && state !== 'in_progress';

export const EVENT_SOURCES: readonly RunSourceType[] = ['GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'SLACK'];

/** Whether the run works for an event that its answers show. Otherwise a person has continued it, who has not written at the issue. */
export const worksForEvent = ({
  source,
  isLastInputOfEvent,
}: {
  readonly source: RunSourceType;
  readonly isLastInputOfEvent: boolean | null;
}): boolean => isLastInputOfEvent ?? EVENT_SOURCES.includes(source);
