import type { PullRequestStatus } from '#execution/runner-protocol';

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  /** Default: the default branch of the repository. */
  readonly base?: string;
  readonly draft: boolean;
}

export interface PullRequest {
  readonly url: string;
  readonly status: PullRequestStatus;
}

export interface CreatedPullRequest extends PullRequest {
  /** False: the branch has had an open pull request before. */
  readonly isNew: boolean;
}

/** A repository on GitHub or GitLab, by its REST API. Methods reject with a ForgeError. */
export interface ForgeRepository {
  /** `GitHub` or `GitLab`. */
  readonly forge: string;
  /** Returns the open pull request of the branch if there is one already. */
  createPullRequest(request: NewPullRequest, signal: AbortSignal): Promise<CreatedPullRequest>;
}
