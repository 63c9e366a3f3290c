import { FD_URL, fetchFromDirectory } from './fd-transport.js';
import { GitFailure } from './git-failure.js';
import { parseGitUrl, type RemoteLocation } from './git-location.js';
import { type GitResult, type GitCall, runGit } from './git-process.js';
import { openLocalRepository } from './local-repository.js';
import type { GitCredential, GitRepository } from './mirror.js';
import { checkHost, type GitHosts } from './remote-host.js';
import { withSshConfig } from './ssh-access.js';

type AccessPart = Pick<GitCall, 'protocols' | 'config' | 'environment' | 'secretInput' | 'scrub'>;

/** What GitHub expects beside a token. */
export const DEFAULT_USERNAME = 'x-access-token';
const SSH_COMMAND = `f() { command -v ssh > /dev/null || { echo 'fatal: The OpenSSH client (ssh) is not installed on this machine.' >&2; exit 127; }; exec ssh -F "$HEADRACE_SSH_CONFIG" "$@"; }; f`;
/** Git calls it with `get`; what it prints is what lies in descriptor 3, which is there once. */
const HELPER = '!f() { test "$1" = get && cat <&3; }; f';

/**
 * Lets a call of git reach a remote repository with a credential. For http the credential goes through an inherited
 * descriptor, to that server only; for ssh an agent in this process signs with it, for as long as the call takes.
 * `address`: where ssh connects to, whatever the name of the host resolves to.
 */
async function withAccess<T>(
  location: RemoteLocation,
  credential: GitCredential | undefined,
  address: string | null,
  work: (access: AccessPart) => Promise<T>,
): Promise<T> {
  const scrub = scrubber(credential);
  if (location.protocol === 'ssh')
    return withSshConfig({ credential, address }, (config) => {
      // Git hands the command to a shell, so the path is passed in a variable and not as text of the command.
      const command = {
        GIT_SSH_COMMAND: SSH_COMMAND,
        GIT_SSH_VARIANT: 'ssh',
        HEADRACE_SSH_CONFIG: config,
      };
      return work({ protocols: ['ssh'], environment: command, scrub });
    });
  const protocols = location.protocol === 'http' ? ['http', 'https'] : [location.protocol];
  if (credential === undefined || location.protocol === 'git') return work({ protocols, scrub });
  const username = credential.username ?? DEFAULT_USERNAME;
  if (/[\r\n\0]/.test(username) || /[\r\n\0]/.test(credential.password.trimEnd())) return work({ protocols, scrub });
  return work({
    protocols,
    // Only for this server: a redirect elsewhere finds no helper.
    config: { [`credential.${new URL(location.url).origin}.helper`]: HELPER },
    secretInput: `username=${username}\npassword=${credential.password.trimEnd()}\n`,
    scrub,
  });
}

/** Takes a credential out of text, also as git and curl may write it. */
function scrubber(credential: GitCredential | undefined): (text: string) => string {
  if (credential === undefined) return (text) => text;
  const { username = DEFAULT_USERNAME, password } = credential;
  const forms = [password, password.trim(), encodeURIComponent(password), Buffer.from(password).toString('base64')];
  const basic = Buffer.from(`${username}:${password.trimEnd()}`).toString('base64');
  const needles = [...new Set([...forms, basic, ...password.split('\n')])].filter((form) => form.trim().length >= 4);
  needles.sort((a, b) => b.length - a.length);
  return (text) => needles.reduce((rest, needle) => rest.replaceAll(needle, '***'), text);
}

/** A call of git that queries a repository; `url` is its placeholder in the arguments. */
export type RemoteCall = (url: string) => GitCall;

/** Executes a call that queries a remote repository, over any transport. Rejects with a GitFailure. */
export async function queryRepository(
  { url, credential }: GitRepository,
  { localRoots = [], hosts }: { readonly localRoots?: readonly string[]; readonly hosts?: GitHosts },
  call: RemoteCall,
): Promise<GitResult> {
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
