import { lookup as resolveHost } from 'node:dns/promises';
import { isIP } from 'node:net';
import { parseUrl, PublicAddresses } from '#platform/kernel';
import { GitFailure } from './git-failure.js';
import type { RemoteLocation } from './git-location.js';

/** The hosts that repositories may be fetched from, when the network must be protected from the person who names them. */
export interface GitHosts {
  /** Addresses and ranges that are allowed although they are not public, as the setting GIT_ALLOW_PRIVATE lists them. */
  readonly allowPrivate: readonly string[];
  /** URLs whose protocol, host and port are the operator's own choice. */
  readonly trustedUrls?: readonly string[];
  /** Default: the machine's resolver. */
  readonly lookup?: (host: string) => Promise<readonly { readonly address: string }[]>;
}

/** How git reaches a host that was checked: it would resolve the name again, and could get another address. */
interface CheckedHost {
  readonly url: string;
  readonly config: Readonly<Record<string, string>>;
  /** For ssh. */
  readonly address: string | null;
}

const PORTS = { https: 443, http: 80, ssh: 22, git: 9418 } as const;
const SCP_HOST = /^[^@]+@([^:]+):/;
const NO_REDIRECTS = { 'http.followRedirects': 'false' } as const;

/**
 * Resolves the host of a repository and checks all its addresses. Rejects with GitFailure `not_allowed`, whose message
 * does not tell which addresses a name has, or `unavailable`.
 */
export async function checkHost(location: RemoteLocation, hosts: GitHosts): Promise<CheckedHost> {
  const { protocol } = location;
  // In the form that is checked: another parser could read the given text in another way.
  const url = protocol.startsWith('http') ? new URL(location.url).href : location.url;
  // Also with redirects: a renamed repository of GitHub has one.
  if (isTrusted(url, hosts)) return { url, config: {}, address: null };
  const { host, port } = hostOf(location);
  const guard = new PublicAddresses(hosts.allowPrivate);
  // Resolvers and curl do not agree about a final dot, and what is pinned must be what is asked.
  if (host.endsWith('.') || host.includes('%')) throw notAllowed();
  if (isIP(host) !== 0) {
    if (!guard.allows(host)) throw notAllowed();
    return { url, config: NO_REDIRECTS, address: null };
  }
  const addresses = await addressesOf(host, hosts);
  if (addresses.length === 0 || !addresses.every((address) => guard.allows(address))) throw notAllowed();
  const [address = ''] = addresses;
  switch (protocol) {
    case 'https':
    case 'http': {
      const pinned = `${host}:${port}:${addresses.map(bracketed).join(',')}`;
      return { url, config: { ...NO_REDIRECTS, 'http.curloptResolve': pinned }, address: null };
    }
    case 'ssh':
      return { url, config: {}, address };
    case 'git': {
      const pinned = new URL(url);
      pinned.host = `${bracketed(address)}:${port}`;
      return { url: pinned.href, config: {}, address: null };
    }
  }
}

function hostOf({ url, protocol }: RemoteLocation): { host: string; port: number } {
  const parsed = parseUrl(url);
  if (parsed === null) return { host: SCP_HOST.exec(url)?.[1] ?? '', port: PORTS.ssh };
  const { hostname, port } = parsed;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? PORTS[protocol] : Number(port) };
}

function isTrusted(url: string, { trustedUrls = [] }: GitHosts): boolean {
  if (!/^https?:/i.test(url)) return false;
  return trustedUrls.some((trusted) => parseUrl(trusted)?.origin === new URL(url).origin);
}

async function addressesOf(host: string, { lookup = systemLookup }: GitHosts): Promise<string[]> {
  try {
    return (await lookup(host)).map(({ address }) => address);
  } catch {
    throw new GitFailure('unavailable', `Could not resolve the host ${host} of the repository.`);
  }
}

const systemLookup = (host: string): Promise<{ address: string }[]> => resolveHost(host, { all: true });

const bracketed = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address);

const notAllowed = (): GitFailure =>
  new GitFailure(
    'not_allowed',
    'The host of the repository is not at a public address, nor at one that the setting GIT_ALLOW_PRIVATE lists.',
  );
