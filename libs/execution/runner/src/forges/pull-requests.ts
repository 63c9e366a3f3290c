import { join } from 'node:path';
import { currentBranch, GitFailure, type GitHosts, remoteBranches } from '#platform/git';
import { AGENT_TEXT_MARK, type ForgeRef, type RepositoryRef } from '#execution/runner-protocol';
import type { Workspace } from '../workspace/workspace.js';
import type { RepositoryCredentials } from '../git/repository-credentials.js';
import { ForgeError } from './forge-api.js';
import { findForgeRepository } from './find-forge.js';
import type { ForgeRepository, NewPullRequest, PullRequest } from './forge.js';

export interface PullRequestsOptions {
  /** Those that were cloned for the run. */
  readonly repositories: readonly RepositoryRef[];
  readonly credentials: RepositoryCredentials;
  readonly forges: readonly ForgeRef[];
  readonly workspace: Pick<Workspace, 'places' | 'runAs'>;
  readonly hosts: GitHosts | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

export interface RequestedPullRequest extends Omit<NewPullRequest, 'branch' | 'base'> {
  /** Directory or URL of the repository. Default: the only one. */
  readonly repository?: string;
  /** Default: the branch that is checked out. */
  readonly branch?: string;
  /** Default: the default branch of the repository. */
  readonly base?: string;
}

export interface CreatedPullRequest extends PullRequest {
  readonly branch: string;
  /** False: the branch has had an open pull request before. */
  readonly isNew: boolean;
}

interface Source {
  readonly repository: RepositoryRef;
  readonly remote: ForgeRepository;
}

/** Pull requests in the repositories of the run that are on a forge and have a credential for it. */
export class PullRequests {
  /** Repositories that are on a forge and have a credential. */
  private readonly sources: readonly RepositoryRef[];

  constructor(private readonly options: PullRequestsOptions) {
    this.sources = options.repositories.filter((repository) => this.remoteOf(repository) !== null);
  }

  get isPossible(): boolean {
    return this.sources.length > 0;
  }

  /** Rejects with a ForgeError. */
  async create(
    { repository: wanted, branch: given, base: target, body, ...texts }: RequestedPullRequest,
    signal: AbortSignal,
  ): Promise<CreatedPullRequest> {
    const source = await this.open(this.find(wanted));
    const branch = given ?? (await this.branchOf(source, signal));
    if (!(await this.isPushed(source, branch, signal)))
      throw new ForgeError(
        `The server does not have the branch ${branch}. Push it first: git push --set-upstream origin ${branch}`,
      );
    const { remote } = source;
    const base = target ?? (await remote.defaultBranch(signal));
    const existing = await remote.findOpen(branch, base, signal);
    if (existing) return { ...existing, branch, isNew: false };
    const created = await remote.create(
      { ...texts, body: `${body}\n\n${AGENT_TEXT_MARK}`.trim(), branch, base },
      signal,
    );
    if (!(created instanceof ForgeError)) return { ...created, branch, isNew: true };
    // Another request may have created it meanwhile.
    const found = await remote.findOpen(branch, base, signal);
    if (!found) throw created;
    return { ...found, branch, isNew: false };
  }

  private find(wanted: string | undefined): RepositoryRef {
    const found =
      wanted === undefined
        ? this.sources
        : this.sources.filter(({ url, directory }) =>
            [directory, url, url.replace(/\.git$/, '')].includes(wanted.replace(/\/+$/, '')),
          );
    const [source, ...others] = found;
    if (source && others.length === 0) return source;
    const names = this.sources.map(({ directory }) => directory).join(', ');
    throw new ForgeError(
      wanted === undefined
        ? `The run has several repositories; set \`repository\` to one of: ${names}.`
        : `\`repository\` must be one of: ${names}.`,
    );
  }

  private remoteOf({ url, credential }: RepositoryRef): ForgeRepository | null {
    if (!credential || !/^https?:/i.test(url)) return null;
    return findForgeRepository(this.options.forges, url, credential.password.trimEnd());
  }

  private async open(found: RepositoryRef): Promise<Source> {
    const repository = await explain('The server cannot be asked', () => this.options.credentials.refresh(found));
    const remote = this.remoteOf(repository);
    if (!remote) throw new ForgeError('The repository has no credential any more.');
    return { repository, remote };
  }

  private async branchOf({ repository }: Source, signal: AbortSignal): Promise<string> {
    const { workspace, environment } = this.options;
    const directory = join(workspace.places.work, repository.directory);
    const branch = await explain('The branch of the repository could not be read', () =>
      currentBranch({ directory, runAs: workspace.runAs, environment, signal }),
    );
    if (branch === null) throw new ForgeError('No branch is checked out. Create one and push it first.');
    return branch;
  }

  private async isPushed({ repository }: Source, branch: string, signal: AbortSignal): Promise<boolean> {
    const { hosts, environment } = this.options;
    const branches = await explain('The repository could not be asked for the branch', () =>
      remoteBranches(repository, [branch], { ...(hosts && { hosts }), environment, signal }),
    );
    return branches.has(branch);
  }
}

async function explain<Value>(what: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GitFailure) throw new ForgeError(`${what}: ${error.message}`);
    throw error;
  }
}
