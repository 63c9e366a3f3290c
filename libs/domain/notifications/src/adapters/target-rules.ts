import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { parseUrl, PublicAddresses, type RejectionOf } from '#platform/kernel';
import { isIP } from 'node:net';

/** The addresses that notifications may be sent to: public ones, and those in NOTIFY_ALLOW_PRIVATE. */
@Injectable()
export class AddressGuard extends PublicAddresses {
  constructor(settings: Settings) {
    super(settings.notifyAllowPrivate);
  }
}

const MAX_URL = 2048;
const NOT_PUBLIC = 'must resolve to a public address, or to one in NOTIFY_ALLOW_PRIVATE';

export type TargetCheck = { readonly kind: 'valid'; readonly target: URL } | RejectionOf<'invalid'>;

/** The host without the brackets of an IPv6 address. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** The rules for URLs of receivers; they apply when a URL is stored and again for every message. */
@Injectable()
export class TargetRules {
  constructor(
    private readonly settings: Settings,
    private readonly guard: AddressGuard,
  ) {}

  /** Does not resolve host names: their addresses are checked when the connection is opened. */
  check(url: string): TargetCheck {
    if (url.length > MAX_URL) return invalid(`must not exceed ${MAX_URL} characters`);
    const schemes = this.settings.notifyAllowHttp ? ['https:', 'http:'] : ['https:'];
    // The URL parser would accept white space and backslashes, and read another URL than a person does.
    const isPlain = /^[\x21-\x5b\x5d-\x7e]+$/.test(url) && /^https?:\/\/[^/]/i.test(url);
    const target = isPlain ? parseUrl(url) : null;
    if (target === null || !schemes.includes(target.protocol)) {
      const starts = schemes.map((scheme) => `${scheme}//`).join(' or ');
      return invalid(`must be an absolute URL that begins with ${starts}`);
    }
    if (target.username !== '' || target.password !== '') return invalid('must not contain a user or a password');
    if (target.hash !== '') return invalid('must not contain a fragment');
    if (target.port === '0') return invalid('must have a port between 1 and 65535');
    const host = hostOf(target);
    if (isIP(host) !== 0 && !this.guard.allows(host)) return invalid(NOT_PUBLIC);
    // RFC 6761: always this machine, regardless of what a name server answers.
    if (/(^|\.)localhost\.?$/.test(host) && !this.guard.allows('127.0.0.1')) return invalid(NOT_PUBLIC);
    return { kind: 'valid', target };
  }
}

const invalid = (detail: string): TargetCheck => ({ kind: 'invalid', issues: [{ pointer: '/url', detail }] });
