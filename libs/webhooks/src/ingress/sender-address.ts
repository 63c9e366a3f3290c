import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Settings } from '#libs/config';

const UNKNOWN = 'unknown';

/** Who sent a request: the peer, or whom trusted proxies name in `X-Forwarded-For`, read from its end. */
@Injectable()
export class SenderAddress {
  private readonly trusted = new BlockList();

  constructor({ trustedProxies }: Settings) {
    for (const range of trustedProxies) {
      const [address = '', bits] = range.split('/');
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.trusted.addAddress(address, family);
      else this.trusted.addSubnet(address, Number(bits), family);
    }
  }

  of({ socket, headers }: IncomingMessage): string {
    let address = plain(socket.remoteAddress ?? UNKNOWN);
    const forwarded = headers['x-forwarded-for'];
    if (forwarded === undefined) return address;
    for (const hop of String(forwarded).split(',').reverse()) {
      const name = plain(hop.trim());
      if (!this.isTrusted(address) || isIP(name) === 0) break;
      address = name;
    }
    return address;
  }

  private isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

/** IPv4 in IPv6's clothes is IPv4. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
