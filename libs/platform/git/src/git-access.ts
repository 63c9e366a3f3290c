import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FD_URL, fetchFromDirectory } from './fd-transport.js';
import { GitFailure } from './git-failure.js';
import { parseGitUrl, type RemoteLocation } from './git-location.js';
import { type GitResult, type GitCall, runGit } from './git-process.js';
import { openLocalRepository } from './local-repository.js';
import type { GitCredential, GitRepository } from './mirror.js';
import { checkHost, type GitHosts } from './remote-host.js';

type AccessPart = Pick<GitCall, 'protocols' | 'config' | 'environment' | 'secretInput' | 'scrub'>;

/** What GitHub expects beside a token. */
export const DEFAULT_USERNAME = 'x-access-token';
/** Git calls it with `get`; what it prints is what lies in descriptor 3, which is there once. */
const HELPER = '!f() { test "$1" = get && cat <&3; }; f';

/**
 * Lets a call of git reach a remote repository with a credential. For http the credential goes through an inherited
 * descriptor, to that server only; for ssh it is a key in a directory that only we can read, for as long as the call takes.
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
    return withSshKey(credential, address, (environment) => work({ protocols: ['ssh'], environment, scrub }));
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

/** Ssh without the keys, agents, settings and known hosts of the user of this process; a server is trusted when first seen. */
async function withSshKey<T>(
  credential: GitCredential | undefined,
  address: string | null,
  work: (environment: Record<string, string>) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'headrace-ssh-'));
  try {
    await chmod(directory, 0o700);
    const key = join(directory, 'key');
    if (credential) await writeFile(key, `${credential.password.trimEnd()}\n`, { mode: 0o600, flag: 'wx' });
    const settings = {
      BatchMode: 'yes',
      IdentitiesOnly: 'yes',
      IdentityAgent: 'none',
      IdentityFile: credential ? quoted(key) : 'none',
      PasswordAuthentication: 'no',
      StrictHostKeyChecking: 'accept-new',
      UserKnownHostsFile: quoted(join(directory, 'known_hosts')),
      GlobalKnownHostsFile: '/dev/null',
      PermitLocalCommand: 'no',
      ProxyCommand: 'none',
      ForwardAgent: 'no',
      ...(address === null ? {} : { HostName: address }),
    };
    const config = join(directory, 'config');
    const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
    await writeFile(config, lines.join(''), { mode: 0o600, flag: 'wx' });
    // Git hands this to a shell, so the path is passed in a variable and not as text of the command.
    return await work({
      GIT_SSH_COMMAND: 'ssh -F "$HEADRACE_SSH_CONFIG"',
      GIT_SSH_VARIANT: 'ssh',
      HEADRACE_SSH_CONFIG: config,
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** For ssh's own file: percent signs are its placeholders. */
const quoted = (path: string): string => `"${path.replaceAll('%', '%%')}"`;

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
