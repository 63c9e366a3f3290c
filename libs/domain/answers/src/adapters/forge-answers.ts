import type { AnswerTarget, CheckUpdate, ReactionSubject } from '../domain/answer.js';

export interface WrittenCheck {
  /** Null: the forge identifies it by its name. */
  readonly id: string | null;
  readonly sha: string;
}

/** What is written on one issue or pull request of a forge. Methods reject with an AnswerFailure. */
export interface ForgeAnswers {
  /** The limit of a comment, in characters. */
  readonly maxText: number;
  /** Has no effect when it was added before. */
  react(subject: ReactionSubject): Promise<void>;
  /** The oldest comment with the mark that was written after this time. */
  findComment(mark: string, after: Date): Promise<string | null>;
  /** Its id. */
  createComment(text: string): Promise<string>;
  /** False: somebody has deleted it. */
  updateComment(id: string, text: string): Promise<boolean>;
  /** The head commit of a pull request. */
  headOf(pullRequest: string): Promise<string>;
  /** Creates or updates the check of the run on a commit. `id`: of a check that is known. */
  writeCheck(runId: string, sha: string, id: string | null, update: CheckUpdate): Promise<WrittenCheck>;
}

export type AnswerPlace = Pick<AnswerTarget, 'repository' | 'kind' | 'number'>;
