import { BlockList, isIP } from 'node:net';
import type { Settings } from '#libs/config';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Why runners in containers cannot call the API back at RUNNER_API_URL, or null. */
export function runnerAddressProblem({ runnerApiUrl, port }: Pick<Settings, 'runnerApiUrl' | 'port'>): string | null {
  if (!isLoopback(new URL(runnerApiUrl).hostname.replace(/^\[|\]$/g, ''))) return null;
  return (
    `EXECUTOR is docker, and RUNNER_API_URL is ${runnerApiUrl}: inside a container that address is the container itself. ` +
    `Set RUNNER_API_URL to an address of this machine that containers reach, such as http://host.docker.internal:${port}, ` +
    'and HOST to an address that the API is reached at from there, such as that of the bridge (172.17.0.1) or 0.0.0.0.'
  );
}

function isLoopback(hostname: string): boolean {
  const version = isIP(hostname);
  if (version === 0) return hostname === 'localhost' || hostname.endsWith('.localhost');
  return LOOPBACK.check(hostname, version === 4 ? 'ipv4' : 'ipv6') || hostname === '0.0.0.0' || hostname === '::';
}
