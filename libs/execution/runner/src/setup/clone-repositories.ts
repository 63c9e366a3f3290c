import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOut, GitFailure, type GitHosts, type Mirror, MirrorCache } from '#platform/git';
import type { RepositoryRef, RunnerHandover, SetupCommandFinished } from '#execution/runner-protocol';
import type { ExecutionOptions } from '../execution-options.js';
import type { RepositoryCredentials } from '../git/repository-credentials.js';
import type { ManagedProcess } from '../process/managed-process.js';
import type { Workspace } from '../workspace/workspace.js';

export interface PrepareOptions extends Pick<ExecutionOptions, 'handover' | 'assignment' | 'redactor'> {
  readonly workspace: Workspace;
  readonly credentials: RepositoryCredentials;
  /** The workspace has the files of a snapshot. */
  readonly isRestored: boolean;
  /** Environment of the set-up commands; git gets none of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly onProcess: (process: ManagedProcess) => void;
  /** Clones are reported in the order of the repositories, then the commands. */
  readonly report: (kind: 'setup_started' | 'setup_command_finished', data: object) => void;
  readonly signal: AbortSignal;
}

export interface SetupFailure {
  readonly result: SetupCommandFinished;
  readonly timedOut: boolean;
}

const CONCURRENT_CLONES = 4;
const DEFAULT_TIMEOUT_SECONDS = 600;
const DIRECTORY = /^(?!\.{1,2}$|\.git$)[A-Za-z0-9._-]{1,120}$/;

/** Clones all repositories concurrently; the first failure ends the others. Null after success, or when stopped. */
export async function cloneRepositories(
  repositories: readonly RepositoryRef[],
  options: PrepareOptions,
): Promise<SetupFailure | null> {
  const { handover, report, signal } = options;
  if (repositories.length === 0) return null;
  const given = handover.git?.mirrors_dir;
  const directory = given ?? (await mkdtemp(join(tmpdir(), 'headrace-mirrors-')));
  try {
    const cache = mirrorCache(directory, handover);
    const failing = new AbortController();
    const either = AbortSignal.any([signal, failing.signal]);
    const results: (SetupCommandFinished | null)[] = repositories.map(() => null);
    let reported = 0;
    const queue = [...repositories.entries()];
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next && !either.aborted; next = queue.shift()) {
        const [index, repository] = next;
        const result = await clone(index, repository, cache, options, either);
        if (signal.aborted) return;
        // A clone that was stopped by another failure has not failed itself.
        if (result.exit_code !== 0 && failing.signal.aborted) return;
        results[index] = result;
        if (result.exit_code !== 0) failing.abort();
        for (let ready = results[reported]; ready && !failing.signal.aborted; ready = results[reported]) {
          report('setup_command_finished', ready);
          reported += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_CLONES }, work));
    if (signal.aborted) return null;
    for (const result of results.slice(reported)) if (result) report('setup_command_finished', result);
    const failed = results.find((result) => result !== null && result.exit_code !== 0);
    return failed ? { result: failed, timedOut: false } : null;
  } finally {
    if (given === undefined) await rm(directory, { recursive: true, force: true });
  }
}

function mirrorCache(directory: string, handover: RunnerHandover): MirrorCache {
  const {
    local_roots: localRoots = [],
    max_repository_bytes: maxBytes,
    max_mirrors_bytes: maxTotalBytes,
  } = handover.git ?? {};
  return new MirrorCache({
    directory,
    localRoots,
    hosts: gitHosts(handover),
    timeoutMs: timeoutOf(handover),
    environment: marks(handover),
    maxBytes,
    maxTotalBytes,
  });
}

/** The servers that git of the runner may reach; undefined: all. */
export const gitHosts = ({ git }: RunnerHandover): GitHosts | undefined =>
  git?.hosts && { allowPrivate: git.hosts.allow_private, trustedUrls: git.hosts.trusted_urls };

const timeoutOf = ({ git }: RunnerHandover): number => (git?.clone_timeout_seconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000;

/** The execution marker, so that a sweep finds processes that a killed runner has left. */
export const marks = ({ marker }: RunnerHandover): Record<string, string> => ({ HEADRACE_EXECUTION_MARKER: marker });

async function clone(
  index: number,
  repository: RepositoryRef,
  cache: MirrorCache,
  { handover, workspace, credentials }: PrepareOptions,
  signal: AbortSignal,
): Promise<SetupCommandFinished> {
  const startedAt = performance.now();
  const finished = (exitCode: number, output: string): SetupCommandFinished => ({
    index,
    command: `git clone ${withoutCredentials(repository.url)}`,
    exit_code: exitCode,
    duration_ms: Math.round(performance.now() - startedAt),
    output: output.endsWith('\n') ? output : `${output}\n`,
  });
  try {
    const { url, ref, directory, credential } = await credentials.refresh(repository);
    if (!DIRECTORY.test(directory)) throw new GitFailure('invalid', 'The directory name is invalid.');
    const options = { ref, signal };
    const mirror = await mirrorOf(cache, { url, credential }, options);
    const timeoutMs = Math.max(1, timeoutOf(handover) - (performance.now() - startedAt));
    const { base: parent, runAs } = workspace;
    const place = { url, parent, directory, runAs, template: workspace.git?.template };
    await checkOut({ mirror, ...options, ...place, environment: marks(handover), timeoutMs });
    const at = mirror && (await mirror.describe(ref));
    return finished(0, at ? `${at.name} at ${at.commit}, in ${directory}` : `an empty repository, in ${directory}`);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return finished(error.exitCode, explain(error));
  }
}

/** An environment of an earlier version may still have a password in a URL. It is rejected, and not shown. */
const withoutCredentials = (url: string): string =>
  url.replace(/^([a-z][a-z0-9+.-]*:\/\/)(.*)@/i, (whole, scheme: string, login: string) =>
    /^ssh:/i.test(scheme) && !login.includes(':') ? whole : `${scheme}***@`,
  );

/** Null: an empty repository, which is not an error. */
async function mirrorOf(cache: MirrorCache, ...asked: Parameters<MirrorCache['mirror']>): Promise<Mirror | null> {
  try {
    return await cache.mirror(...asked);
  } catch (error) {
    if (error instanceof GitFailure && error.reason === 'empty' && asked[1]?.ref === undefined) return null;
    throw error;
  }
}

function explain({ reason, message, output }: GitFailure): string {
  const details = output.includes(message) ? output : [output, message].filter((text) => text !== '').join('\n');
  if (reason === 'not_allowed' && output !== '')
    return `${details}\nRedirects are not followed: use the URL that this one redirects to.`;
  return reason === 'authentication'
    ? `${details}\nAuthentication failed. Set \`secret_name\` of the repository to a managed secret with a valid password or token.`
    : details;
}
