import { join } from 'node:path';
import {
  currentBranch,
  GitFailure,
  type GitHosts,
  listPushedCommits,
  listPushes,
  pageOfRepository,
  pullRequestRef,
  type PushedBranch,
  remoteBranches,
  type RemoteOptions,
  remoteRefs,
  type UnpushedChanges,
  unpushedChanges,
  type WorkTree,
} from '#platform/git';
import type { RepositoryRef } from '#execution/runner-protocol';
import type { RepositoryCredentials } from '../git/repository-credentials.js';
import type { PlainEvent } from '../protocol/outgoing-events.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import type { Workspace } from '../workspace/workspace.js';
import type { ListedReference } from './artifact-list.js';
import { PullRequestFinder } from './pull-request-finder.js';
import { pageOfBranch } from './web-address.js';

export interface RepositoryResultsOptions {
  /** Those that were cloned for the run. */
  readonly repositories: readonly RepositoryRef[];
  readonly credentials: RepositoryCredentials;
  readonly workspace: Pick<Workspace, 'places' | 'runAs'>;
  readonly hosts: GitHosts | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly log: RunnerLog;
}

/** A cloned repository with a page on the web, and what the run has made in it. */
interface Result {
  readonly repository: RepositoryRef;
  readonly page: string;
  pushed: readonly PushedBranch[];
  /** Pushed to any remote repository, such as a fork. */
  commits: ReadonlySet<string>;
  unpushed: UnpushedChanges;
  /** By branch: the last commit that the remote repository was asked about. */
  readonly checked: Map<string, string>;
  /** Of the branches that the remote repository has, or that it could not be asked about. */
  readonly references: Map<string, ListedReference>;
}

export const BRANCH_REFERENCE = 'branch';
const HEAD_MS = 5_000;
/** Pull requests of one repository that the remote repository is asked about at once. */
const MAX_ASKED = 50;
const NONE: UnpushedChanges = { commits: 0, files: 0 };

/** Branches that a run has pushed and pull requests that it has created, as references among its artifacts. */
export class RepositoryResults {
  private readonly results: readonly Result[];
  private readonly pullRequests: PullRequestFinder;
  /** By the URL of a pull request: the branch that was checked out when it was created. */
  private readonly heads = new Map<string, Promise<string | null>>();
  /** Pull requests whose head the run has pushed. */
  private readonly own = new Set<string>();

  constructor(private readonly options: RepositoryResultsOptions) {
    this.results = options.repositories.flatMap((repository) => {
      const page = pageOfRepository(repository.url);
      if (page === null) return [];
      return [
        { repository, page, pushed: [], commits: new Set(), unpushed: NONE, checked: new Map(), references: new Map() },
      ];
    });
    this.pullRequests = new PullRequestFinder(this.results.map(({ page }) => page));
  }

  /** `input`: of a tool call, as far as it is known. */
  observe(event: PlainEvent, input: (toolCallId: string) => unknown): void {
    this.pullRequests.observe(event, input);
    for (const { url, branch } of this.pullRequests.found)
      if (branch === undefined && !this.heads.has(url)) this.heads.set(url, this.readHead(url));
  }

  /** Reads the repositories in the workspace. To be called before the last sweep of processes: git starts programs of the agent. */
  async read(signal: AbortSignal): Promise<void> {
    for (const result of this.results) {
      try {
        const tree = this.treeOf(result, signal);
        result.pushed = await listPushes(tree);
        result.commits = await listPushedCommits(tree);
        result.unpushed = result.repository.credential ? await unpushedChanges(tree) : NONE;
      } catch (error) {
        this.warn('the pushes of a repository could not be read', result, error);
      }
    }
  }

  /** About changes that are in the workspace only, although git can push them, and credentials that the run could not get; null: there are none. */
  get notice(): string | null {
    const parts = this.results.flatMap(({ repository, unpushed: { commits, files } }) => {
      const counts = [...countOf(commits, 'commit'), ...countOf(files, 'changed file')];
      return counts.length === 0 ? [] : [`${repository.directory} (${counts.join(', ')})`];
    });
    const problems = this.results.flatMap(({ repository }) => {
      const problem = this.options.credentials.problemOf(repository);
      return problem === null ? [] : [`The run got no credential for ${repository.directory}: ${problem}`];
    });
    const changes = parts.length === 0 ? [] : [`Changes were not pushed: ${parts.join('; ')}.`];
    return [...changes, ...problems].join(' ') || null;
  }

  /** All so far. Asks the remote repositories about branches that were pushed since the last call. */
  async references(signal: AbortSignal): Promise<ListedReference[]> {
    for (const result of this.results) await this.checkBranches(result, signal);
    const branches = this.results.flatMap(({ references }) => [...references.values()]);
    const pullRequests: ListedReference[] = [];
    for (const { url, branch, status } of this.pullRequests.found) {
      const head = branch ?? (await this.heads.get(url));
      if (head) pullRequests.push({ artifact_type: 'PULL_REQUEST', url, branch: head, status });
    }
    return [...branches, ...pullRequests];
  }

  /**
   * Those of the pull requests in the repositories of the run whose head is a commit that the run has pushed, as the remote repository says:
   * agents can name any pull request, also one that does not exist yet.
   */
  async ownPullRequests(urls: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    for (const result of this.results) {
      const refs = urls
        .flatMap((url) => {
          const name = this.own.has(url) ? null : pullRequestRef(result.repository.url, url);
          return name === null ? [] : [{ url, name }];
        })
        .slice(-MAX_ASKED);
      // The agent can change what git has recorded, so it counts only where the run has a credential to push with.
      if (refs.length === 0 || result.commits.size === 0 || !result.repository.credential) continue;
      const names = refs.map(({ name }) => name);
      const heads = await this.ask(
        result,
        'the pull requests could not be verified',
        (repository, options) => remoteRefs(repository, names, options),
        signal,
      );
      for (const { url, name } of refs) if (result.commits.has(heads?.get(name) ?? '')) this.own.add(url);
    }
    return this.own;
  }

  /** As {@link ownPullRequests}, while the agent works. */
  async isOwnPullRequest(url: string, signal: AbortSignal): Promise<boolean> {
    for (const result of this.results) {
      if (pullRequestRef(result.repository.url, url) === null) continue;
      try {
        result.commits = await listPushedCommits(this.treeOf(result, signal));
      } catch (error) {
        this.warn('the pushes of a repository could not be read', result, error);
      }
    }
    return (await this.ownPullRequests([url], signal)).has(url);
  }

  private async readHead(url: string): Promise<string | null> {
    const wanted = this.pullRequests.pageOf(url);
    const result = this.results.find(({ page }) => page === wanted);
    if (!result) return null;
    try {
      return await currentBranch(this.treeOf(result, AbortSignal.timeout(HEAD_MS)));
    } catch (error) {
      // Nobody waits for it yet.
      const fields = { repository: result.repository.url, error: errorText(error) };
      this.options.log.warn('the branch of a pull request could not be read', fields);
      return null;
    }
  }

  private treeOf({ repository }: Result, signal: AbortSignal): WorkTree {
    const { workspace, environment } = this.options;
    return {
      directory: join(workspace.places.work, repository.directory),
      runAs: workspace.runAs,
      environment,
      signal,
    };
  }

  private async checkBranches(result: Result, signal: AbortSignal): Promise<void> {
    const { repository, pushed, checked } = result;
    const fresh = pushed.filter(({ branch, commit }) => checked.get(branch) !== commit);
    if (fresh.length === 0) return;
    const branches = fresh.map(({ branch }) => branch);
    const found = await this.ask(
      result,
      'the pushed branches could not be verified',
      (remote, options) => remoteBranches(remote, branches, options),
      signal,
    );
    if (signal.aborted) return;
    for (const { branch, commit } of fresh) {
      checked.set(branch, commit);
      // Somebody may have deleted it meanwhile.
      if (found !== null && !found.has(branch)) result.references.delete(branch);
      else result.references.set(branch, referenceOf(result, branch, commit, found !== null));
    }
    this.options.log.info('branches were pushed', { repository: repository.url, branches: fresh.length });
  }

  /** Null: it does not answer. */
  private async ask<Answer>(
    result: Result,
    failure: string,
    question: (repository: RepositoryRef, options: RemoteOptions) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer | null> {
    const { hosts, environment, credentials } = this.options;
    try {
      const repository = await credentials.refresh(result.repository);
      return await question(repository, { ...(hosts && { hosts }), environment, signal });
    } catch (error) {
      this.warn(failure, result, error);
      return null;
    }
  }

  private warn(message: string, { repository }: Result, error: unknown): void {
    if (!(error instanceof GitFailure)) throw error;
    if (error.reason !== 'aborted')
      this.options.log.warn(message, { repository: repository.url, error: error.message });
  }
}

const countOf = (count: number, what: string): string[] => {
  if (count === 0) return [];
  return [`${count} ${what}${count === 1 ? '' : 's'}`];
};

function referenceOf(
  { repository, page }: Result,
  branch: string,
  commit: string,
  isVerified: boolean,
): ListedReference {
  const name = new URL(page).pathname.slice(1);
  return {
    artifact_type: 'EXTERNAL_REFERENCE',
    reference_type: BRANCH_REFERENCE,
    url: pageOfBranch(page, branch),
    title: `Branch ${branch} of ${name}`,
    metadata: { repository: repository.url, branch, commit, verified: isVerified },
  };
}
