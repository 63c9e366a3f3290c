import { BlockList, isIP } from 'node:net';

/** IPv4 that is not for everybody's public hosts: RFC 6890 and what came after it. */
const SPECIAL_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, with the metadata services of clouds
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

/**
 * Of IPv6 only global unicast is public: that leaves out loopback, link-local, unique local, multicast, and what carries
 * an IPv4 address behind a well-known prefix (mapped, NAT64). Within it these are special.
 */
const GLOBAL_V6 = ['2000::/3'];
const SPECIAL_V6 = [
  '2001::/23', // Teredo and other protocols
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: carries an IPv4 address
  '3fff::/20', // documentation
];

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Addresses, CIDR ranges, and the names that Express knows for ranges. */
export function addressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges.flatMap((item) => NAMED[item] ?? [item])) {
    const [address = '', prefix] = range.split('/');
    // Not by isIP, which compiles a large expression in every process. The list rejects what is not an address.
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    list.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family);
  }
  return list;
}

const SPECIAL = addressList([...SPECIAL_V4, ...SPECIAL_V6]);
const GLOBAL = addressList(GLOBAL_V6);

/** Public addresses, and those that a setting lists: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
export class PublicAddresses {
  private readonly allowed: BlockList;

  constructor(allowPrivate: readonly string[]) {
    this.allowed = addressList(allowPrivate);
  }

  /** What is no IP address, or has a zone, is not allowed. */
  allows(address: string): boolean {
    const version = isIP(address);
    if (version === 0 || address.includes('%')) return false;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (this.allowed.check(address, family)) return true;
    return version === 6 ? GLOBAL.check(address, family) && !SPECIAL.check(address, family) : !SPECIAL.check(address);
  }
}
