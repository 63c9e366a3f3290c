import { tmpdir } from 'node:os';
import type { WorkTree } from './diff-work-tree.js';
import { queryRepository } from './git-access.js';
import { GitFailure } from './git-failure.js';
import { runGit } from './git-process.js';
import type { GitRepository } from './mirror.js';
import type { GitHosts } from './remote-host.js';

export interface PushedBranch {
  /** Without `refs/heads/`. */
  readonly branch: string;
  readonly commit: string;
}

const MAX_PUSHES = 1_000;
const TIMEOUT_MS = 20_000;
const SELECTOR = /^refs\/remotes\/origin\/(.+)@\{[^{}]*\}$/;
const BRANCH = 'refs/heads/';
const NO_BRANCH = 1;

/**
 * The branches that git in a working copy has pushed to its origin, each with the last pushed commit. Pushes to a URL instead of a
 * remote are not recorded by git. Rejects with a GitFailure.
 */
export async function listPushes({ directory, ...process }: WorkTree): Promise<PushedBranch[]> {
  const { stdout } = await runGit({
    args: [
      ...['log', '--walk-reflogs', '--remotes=origin', '--grep-reflog=^update by push', '--no-show-signature'],
      ...[`--max-count=${MAX_PUSHES}`, '--format=%gD%x00%H'],
    ],
    cwd: directory,
    timeoutMs: TIMEOUT_MS,
    ...process,
  });
  const last = new Map<string, string>();
  for (const line of stdout.toString('utf8').split('\n')) {
    const [selector = '', commit = ''] = line.split('\0');
    const branch = SELECTOR.exec(selector)?.[1];
    // The newest one of each branch is first.
    if (branch !== undefined && !last.has(branch)) last.set(branch, commit);
  }
  return [...last].map(([branch, commit]) => ({ branch, commit }));
}

/** What the remote repositories do not have, as far as git in the working copy knows. */
export interface UnpushedChanges {
  readonly commits: number;
  /** That differ from the last commit, or are new and not ignored. */
  readonly files: number;
}

const MAX_STATUS_BYTES = 1_048_576;

/** Rejects with a GitFailure, also when there are very many. */
export async function unpushedChanges({ directory, ...process }: WorkTree): Promise<UnpushedChanges> {
  const call = { cwd: directory, timeoutMs: TIMEOUT_MS, ...process };
  const options = [
    '--porcelain=v2',
    '--branch',
    '--no-renames',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
  ];
  const { stdout } = await runGit({ ...call, args: ['status', '-z', ...options], maxOutputBytes: MAX_STATUS_BYTES });
  const lines = stdout.toString('latin1').split('\0').slice(0, -1);
  const counted = lines.includes('# branch.oid (initial)')
    ? '0'
    : (await runGit({ ...call, args: ['rev-list', '--count', 'HEAD', '--not', '--remotes'] })).stdout.toString();
  return { commits: Number(counted), files: lines.filter((line) => !line.startsWith('# ')).length };
}

/** The branch that is checked out; null: none. Rejects with a GitFailure. */
export async function currentBranch({ directory, ...process }: WorkTree): Promise<string | null> {
  const args = ['symbolic-ref', '--quiet', '--short', 'HEAD'];
  try {
    const { stdout } = await runGit({ args, cwd: directory, timeoutMs: TIMEOUT_MS, ...process });
    return stdout.toString('utf8').trim();
  } catch (error) {
    if (error instanceof GitFailure && error.exitCode === NO_BRANCH) return null;
    throw error;
  }
}

/** The commits that git in a working copy has pushed to any of its remotes. Rejects with a GitFailure. */
export async function listPushedCommits({ directory, ...process }: WorkTree): Promise<ReadonlySet<string>> {
  const { stdout } = await runGit({
    args: [
      ...['log', '--walk-reflogs', '--remotes', '--grep-reflog=^update by push', '--no-show-signature'],
      ...[`--max-count=${MAX_PUSHES}`, '--format=%H'],
    ],
    cwd: directory,
    timeoutMs: TIMEOUT_MS,
    ...process,
  });
  return new Set(
    stdout
      .toString('latin1')
      .split('\n')
      .filter((commit) => commit !== ''),
  );
}

export interface RemoteOptions {
  readonly localRoots?: readonly string[];
  readonly hosts?: GitHosts;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The commits of those of the branches that a remote repository has. Rejects with a GitFailure. */
export async function remoteBranches(
  repository: GitRepository,
  branches: readonly string[],
  options: RemoteOptions,
): Promise<ReadonlyMap<string, string>> {
  const names = branches.map((branch) => `${BRANCH}${branch}`);
  const found = await remoteRefs(repository, names, options);
  return new Map([...found].map(([name, commit]) => [name.slice(BRANCH.length), commit]));
}

/** The commits of those of the refs that a remote repository has. Rejects with a GitFailure. */
export async function remoteRefs(
  repository: GitRepository,
  names: readonly string[],
  options: RemoteOptions,
): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await queryRepository(repository, options, (url) => ({
    args: ['ls-remote', '--quiet', '--', url, ...names],
    cwd: tmpdir(),
    environment: options.environment,
    signal: options.signal,
    timeoutMs: TIMEOUT_MS,
  }));
  const lines = stdout.toString('utf8').split('\n');
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const [commit = '', name = ''] = line.split('\t');
      // A pattern without its beginning matches names that only end like it.
      return names.includes(name) ? [[name, commit]] : [];
    }),
  );
}
