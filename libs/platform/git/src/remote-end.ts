import { fetchFromDirectory, FD_URL } from './fd-transport.js';
import { withAccess } from './git-access.js';
import { GitFailure } from './git-failure.js';
import { parseGitUrl } from './git-location.js';
import { type GitAnswer, type GitCall, runGit } from './git-process.js';
import { openLocalRepository } from './local-repository.js';
import type { GitRepository } from './mirror-types.js';
import { checkHost, type GitHosts } from './remote-host.js';

/** A call of git that queries a repository; `url` is its placeholder in the arguments. */
export type AskingCall = (url: string) => GitCall;

/** Executes a call that queries a remote repository, over any transport. Rejects with a GitFailure. */
export async function askRepository(
  { url, credential }: GitRepository,
  { localRoots = [], hosts }: { readonly localRoots?: readonly string[]; readonly hosts?: GitHosts },
  call: AskingCall,
): Promise<GitAnswer> {
  const parsed = parseGitUrl(url);
  if (parsed.kind === 'invalid') throw new GitFailure('invalid', `The URL of the repository ${parsed.detail}.`);
  const { location } = parsed;
  if (location.kind === 'local') {
    const gitDirectory = await openLocalRepository(location.path, localRoots);
    return fetchFromDirectory(gitDirectory, call(FD_URL));
  }
  const checked = hosts ? await checkHost(location, hosts) : { url: location.url, config: {}, address: null };
  return withAccess(location, credential, checked.address, (access) => {
    const plain = call(checked.url);
    return runGit({
      ...plain,
      ...access,
      config: { ...plain.config, ...checked.config, ...access.config },
      environment: { ...plain.environment, ...access.environment },
    });
  });
}
