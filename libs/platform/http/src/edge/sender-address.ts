import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { Settings } from '#platform/config';
import { addressList } from '#platform/kernel';

const UNKNOWN = 'unknown';
/** Some load balancers append the port of the sender: `192.0.2.1:5678`, `[2001:db8::1]:443`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([^:]+):\d{1,5})$/;

/** The address of the sender: of the peer, or as trusted proxies report it in `X-Forwarded-For`, read from its end. */
@Injectable()
export class SenderAddress {
  private readonly logger = new Logger(SenderAddress.name);
  private readonly trusted: BlockList;
  private hasWarned = false;

  constructor({ trustedProxies }: Settings) {
    this.trusted = addressList(trustedProxies);
  }

  of({ socket, headers }: IncomingMessage): string {
    let address = plain(socket.remoteAddress ?? UNKNOWN);
    const forwarded = headers['x-forwarded-for'];
    if (forwarded === undefined) return address;
    for (const hop of String(forwarded).split(',').reverse()) {
      if (!this.isTrusted(address)) break;
      const name = plain(withoutPort(hop.trim()));
      if (isIP(name) === 0) {
        this.warn(address);
        break;
      }
      address = name;
    }
    return address;
  }

  private isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  /** Logged once, because every request through that proxy has the same defect. */
  private warn(proxy: string): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.logger.warn(
      `The X-Forwarded-For header of the trusted proxy ${proxy} has an entry that is not an IP address: limits by sender address count such requests as the proxy's own. This is logged once.`,
    );
  }
}

/** The key of limits by sender: an IPv4 address, or the /64 network of an IPv6 address. */
export function senderOf(address: string): string {
  return address.includes(':') && !address.includes('.') ? prefix64(address) : address;
}

/** The address must be valid. */
function prefix64(address: string): string {
  const [head = '', tail] = address.split('::');
  const start = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - start.length - rest.length;
  return [...start, ...Array.from({ length: zeros }, () => '0'), ...rest].slice(0, 4).join(':');
}

function withoutPort(entry: string): string {
  const [, v6, v4] = WITH_PORT.exec(entry) ?? [];
  if (v6 !== undefined) return v6;
  return v4 !== undefined && isIPv4(v4) ? v4 : entry;
}

/** An IPv4 address that is mapped to IPv6 is returned as IPv4. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');
