import { normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where a repository is. `url` is what a person gave, without a slash at its end; it never holds a password. */
export type GitLocation =
  | { readonly kind: 'remote'; readonly url: string; readonly protocol: 'https' | 'http' | 'ssh' | 'git' }
  | { readonly kind: 'local'; readonly url: string; readonly path: string };

export type RemoteLocation = Extract<GitLocation, { kind: 'remote' }>;

export type ParsedLocation =
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
  if (!URL.canParse(url)) return invalid(SHAPE);
  const { hostname, username, password, pathname, search, hash } = new URL(url);
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
