import { normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseUrl } from '#platform/kernel';

/** Where a repository is. `url` is what a person gave, without a slash at its end; it never holds a password. */
type GitLocation =
  | { readonly kind: 'remote'; readonly url: string; readonly protocol: 'https' | 'http' | 'ssh' | 'git' }
  | { readonly kind: 'local'; readonly url: string; readonly path: string };

export type RemoteLocation = Extract<GitLocation, { kind: 'remote' }>;

type ParsedLocation =
  | { readonly kind: 'valid'; readonly location: GitLocation }
  /** Completes "`url` …" and never repeats the value. */
  | { readonly kind: 'invalid'; readonly detail: string };

const MAX_LENGTH = 2048;
const HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])$/;
/** The platform's parser ends a host at a backslash and removes characters; git and curl do not. */
const PLAIN_HTTP = /^https?:\/\/(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:\/[^\\]*)?$/i;
const SCP = /^([A-Za-z0-9_][A-Za-z0-9._-]*)@([A-Za-z0-9_][A-Za-z0-9._-]*):(?![-:])(\S+)$/;
const SHAPE =
  'must be a git URL that begins with https://, http://, ssh://, git:// or file://, user@host:path, or an absolute path';

const invalid = (detail: string): ParsedLocation => ({ kind: 'invalid', detail });

/** Reads a git URL or an absolute path. Nothing but these forms: git knows URLs that run commands. */
export function parseGitUrl(text: string): ParsedLocation {
  if (text.length > MAX_LENGTH) return invalid(`must not exceed ${MAX_LENGTH} characters`);

  if (/[\x00-\x20\x7f]|%0[0ad]/i.test(text)) return invalid('must not contain spaces or control characters');
  const url = text.length > 1 ? text.replace(/\/+$/, '') : text;
  if (url.startsWith('/')) return local(url, url);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    return SCP.test(url) ? { kind: 'valid', location: { kind: 'remote', url, protocol: 'ssh' } } : invalid(SHAPE);
  }
  if (scheme === 'file') return fileUrl(url);
  if (scheme !== 'https' && scheme !== 'http' && scheme !== 'ssh' && scheme !== 'git') return invalid(SHAPE);
  return remote(url, scheme);
}

function remote(url: string, protocol: 'https' | 'http' | 'ssh' | 'git'): ParsedLocation {
  const parsed = parseUrl(url);
  if (parsed === null) return invalid(SHAPE);
  const { hostname, username, password, pathname, search, hash } = parsed;
  if (password !== '' || (username !== '' && protocol !== 'ssh'))
    return invalid('must not contain a user or password: name a managed secret in `secret_name` instead');
  if (!HOST.test(hostname) || !/^[A-Za-z0-9._-]*$/.test(username) || username.startsWith('-')) return invalid(SHAPE);
  if (protocol.startsWith('http') && !PLAIN_HTTP.test(url)) return invalid(SHAPE);
  if (pathname.length < 2 || pathname.startsWith('/-')) return invalid('must name a repository behind the host');
  if (search + hash !== '') return invalid('must not contain a query or a fragment');
  return { kind: 'valid', location: { kind: 'remote', url, protocol } };
}

function fileUrl(url: string): ParsedLocation {
  try {
    return local(url, fileURLToPath(url));
  } catch {
    return invalid('must be file:// followed by an absolute path of this machine');
  }
}

function local(url: string, path: string): ParsedLocation {
  if (normalize(path) !== path || path === '/' || /[\x00-\x1f]/.test(path))
    return invalid('must be an absolute path without . and .. in it');
  return { kind: 'valid', location: { kind: 'local', url, path } };
}

const MAX_BYTES = 255;
export const COMMIT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Why a text cannot name a branch, a tag or a commit, completing "`ref` …"; null when it can. The rules are git's own. */
export function refFault(ref: string): string | null {
  if (ref === '') return 'must not be empty';
  if (Buffer.byteLength(ref) > MAX_BYTES) return `must not exceed ${MAX_BYTES} bytes`;
  if (ref.startsWith('-')) return 'must not begin with a hyphen';

  if (/[\x00-\x20\x7f~^:?*[\\]/.test(ref))
    return 'must not contain spaces, control characters or any of ~ ^ : ? * [ \\';
  if (ref === '@' || ref.includes('@{') || ref.includes('..')) return 'must not be @ or contain .. or @{';
  const parts = ref.split('/');
  if (parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.lock')) || ref.endsWith('.'))
    return 'must be names joined by single slashes, none of which begins with a dot or ends with .lock';
  return null;
}

/** The URL of a repository of GitHub: `githubUrl` is https://github.com or a replacement, which can be a local directory. */
export function repositoryUrl(
  { githubUrl }: { readonly githubUrl: string },
  { owner, repo }: { readonly owner: string; readonly repo: string },
): string {
  return `${githubUrl.replace(/\/+$/, '')}/${owner}/${repo}.git`;
}

/** The name of the directory that `git clone` would make. */
export function directoryName(url: string): string {
  const last = url
    .replace(/\/+$/, '')
    .replace(/\/?\.git$/, '')
    .split(/[/:]/)
    .at(-1);
  const name = (last ?? '')
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 100);
  return name === '' || name === '.git' ? 'repository' : name;
}

/** A separate directory for each, in order; the second of a name gets a number. */
export function directoryNames(urls: readonly string[]): string[] {
  const taken = new Set<string>();
  return urls.map((url) => {
    const name = directoryName(url);
    let free = name;
    for (let number = 2; taken.has(free.toLowerCase()); number += 1) free = `${name}-${number}`;
    taken.add(free.toLowerCase());
    return free;
  });
}

const GITHUB = 'https://github.com';

/** URL of the REST API of GitHub, or of the server that replaces it. */
export const githubApi = ({
  githubUrl,
  githubApiUrl,
}: {
  readonly githubUrl: string;
  readonly githubApiUrl: string | undefined;
}): string => {
  if (githubApiUrl !== undefined) return githubApiUrl;
  return githubUrl === GITHUB || !/^https?:/i.test(githubUrl) ? 'https://api.github.com' : `${githubUrl}/api/v3`;
};
