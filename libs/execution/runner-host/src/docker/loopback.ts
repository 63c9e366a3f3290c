import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether an address means, inside a container, the container itself. */
export function isLoopbackUrl(url: string): boolean {
  const hostname = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const version = isIP(hostname);
  if (version === 0) return hostname === 'localhost' || hostname.endsWith('.localhost');
  return LOOPBACK.check(hostname, version === 4 ? 'ipv4' : 'ipv6') || hostname === '0.0.0.0' || hostname === '::';
}
