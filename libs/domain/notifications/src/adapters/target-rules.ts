import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { Settings } from '#platform/config';
import { AddressGuard } from './address-guard.js';

const MAX_URL = 2048;
const NOT_PUBLIC = 'must lead to a public address, or to one that NOTIFY_ALLOW_PRIVATE lists';

export type TargetRuling = { readonly target: URL } | { readonly wrong: string };

/** The host without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** What an address may look like. The same rules when it is given and whenever something is sent to it. */
@Injectable()
export class TargetRules {
  constructor(
    private readonly settings: Settings,
    private readonly guard: AddressGuard,
  ) {}

  /** `wrong` completes "`url` …". Names are not looked up: where they lead is checked when a connection is made. */
  check(url: string): TargetRuling {
    if (url.length > MAX_URL) return { wrong: `must not exceed ${MAX_URL} characters` };
    const schemes = this.settings.notifyAllowHttp ? ['https:', 'http:'] : ['https:'];
    // The platform's parser would take white space and back slashes, and read something else than people do.
    const isPlain = /^[\x21-\x5b\x5d-\x7e]+$/.test(url) && /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
    if (!isPlain || !schemes.includes(new URL(url).protocol)) {
      const starts = schemes.map((scheme) => `${scheme}//`).join(' or ');
      return { wrong: `must be an absolute URL that begins with ${starts}` };
    }
    const target = new URL(url);
    if (target.username !== '' || target.password !== '') return { wrong: 'must have no user and no password' };
    if (target.hash !== '') return { wrong: 'must have no fragment' };
    if (target.port === '0') return { wrong: 'must have a port from 1 to 65535' };
    const host = hostOf(target);
    if (isIP(host) !== 0 && !this.guard.allows(host)) return { wrong: NOT_PUBLIC };
    // Means this machine everywhere (RFC 6761), whatever a name server says.
    if (/(^|\.)localhost\.?$/.test(host) && !this.guard.allows('127.0.0.1')) return { wrong: NOT_PUBLIC };
    return { target };
  }
}
