import type { RunState } from '#domain/runs';

/** `comment`: one on the issue or pull request. `check`: on the head commit of the pull request. `reaction`: the receipt. */
export const ANSWER_PARTS = ['comment', 'check', 'reaction'] as const;
export type AnswerPart = (typeof ANSWER_PARTS)[number];

export const REACTION = 'eyes';

/** Comments that the agent of one run can ask for. */
export const MAX_COMMENTS = 10;
/** Characters. */
export const MAX_COMMENT_TEXT = 10_000;

/** The issue or pull request that a run works on. */
export interface AnswerTarget {
  readonly provider: 'github' | 'gitlab';
  /** `acme/service`; on GitLab with all its groups. */
  readonly repository: string;
  readonly kind: 'issue' | 'pull_request';
  readonly number: string;
}

/** `target`, `comment/12` or `review_comment/12`: what a reaction is added to. */
export type ReactionSubject = 'target' | `${'comment' | 'review_comment'}/${string}`;

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
  readonly mark: string;
  readonly createdAt: Date;
  readonly commentId: string | null;
  readonly commentHash: string | null;
  readonly checkId: string | null;
  readonly checkSha: string | null;
  readonly checkHash: string | null;
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
  readonly approval: { readonly id: string; readonly title: string } | null;
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
