import type { AnsweredRun, AnswerTarget, CheckUpdate, ReactionSubject } from '../domain/answer.js';

export interface WrittenCheck {
  /** Null: the forge identifies it by its name. */
  readonly id: string | null;
  readonly sha: string;
}

/** `received`: the receipt. The others follow when the run has ended. */
export type ReactionKind = 'received' | 'succeeded' | 'failed';

/** What is written on one issue or pull request of a forge, or in one thread. Methods reject with an AnswerFailure. */
export interface ForgeAnswers {
  /** Characters of a result that are shown. */
  readonly maxText: number;
  /** Whether what has got the receipt gets another reaction when the run has ended. */
  readonly reactsToEnd: boolean;
  /** Has no effect when it was added before. */
  react(subject: ReactionSubject, kind: ReactionKind): Promise<void>;
  /** What the comment says, as the forge expects it. The same run results in the same text. */
  contentOf(run: AnsweredRun, mark: string): string;
  /** A comment that the agent of the run has asked for. */
  requestedContentOf(runId: string, mark: string, text: string): string;
  /** The oldest comment of the run with the mark that was written after this time. */
  findComment(runId: string, mark: string, after: Date): Promise<string | null>;
  /** Its id. */
  createComment(content: string): Promise<string>;
  /** False: somebody has deleted it. */
  updateComment(id: string, content: string): Promise<boolean>;
}

/** Answers on issues and pull requests, where commits have checks. */
export interface CheckedAnswers extends ForgeAnswers {
  /** The head commit of a pull request. */
  headOf(pullRequest: string): Promise<string>;
  /** Creates or updates the check of the run on a commit. `id`: of a check that is known. */
  writeCheck(runId: string, sha: string, id: string | null, update: CheckUpdate): Promise<WrittenCheck>;
}

export type AnswerPlace = Pick<AnswerTarget, 'repository' | 'kind' | 'number'>;
