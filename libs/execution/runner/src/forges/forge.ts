import type { PullRequestStatus } from '#execution/runner-protocol';
import type { ForgeError } from './forge-api.js';

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  readonly branch: string;
  readonly base: string;
  readonly draft: boolean;
}

export interface PullRequest {
  readonly url: string;
  readonly status: PullRequestStatus;
}

/** A repository on GitHub or GitLab, by its REST API. Methods reject with a ForgeError. */
export interface ForgeRepository {
  defaultBranch(signal: AbortSignal): Promise<string>;
  findOpen(branch: string, base: string, signal: AbortSignal): Promise<PullRequest | null>;
  /** A ForgeError that is returned: the server rejects the request, also because the branch has an open one. */
  create(request: NewPullRequest, signal: AbortSignal): Promise<PullRequest | ForgeError>;
}
