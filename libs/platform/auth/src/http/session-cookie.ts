import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Settings } from '#platform/config';
import { OPENID_SIGN_IN_MS } from '../application/openid-sign-in.service.js';

/** Without it a request with a cookie changes nothing: other sites cannot send it. */
export const CONSOLE_HEADER = 'X-Headrace-Console';

/** A cookie that scripts cannot read. */
class BrowserCookie {
  readonly name: string;
  private readonly isSecure: boolean;

  constructor(
    { publicUrl }: Settings,
    content: string,
    private readonly sameSite: 'Strict' | 'Lax',
    private readonly ttlMs: number,
  ) {
    const { protocol, port } = new URL(publicUrl);
    this.isSecure = protocol === 'https:';
    // Browsers send the cookies of a host to all of its ports.
    this.name = this.isSecure ? `__Host-headrace_${content}` : `headrace_${content}_${port === '' ? '80' : port}`;
  }

  read({ headers }: IncomingMessage): string | undefined {
    for (const pair of (headers.cookie ?? '').split(';')) {
      const [name = '', value] = pair.split('=', 2);
      if (name.trim() === this.name && value !== undefined && value.trim() !== '') return value.trim();
    }
    return undefined;
  }

  set(response: Response, value: string): void {
    this.write(response, value, Math.floor(this.ttlMs / 1000));
  }

  clear(response: Response): void {
    this.write(response, '', 0);
  }

  private write(response: Response, value: string, maxAgeSeconds: number): void {
    const attributes = ['Path=/', `Max-Age=${maxAgeSeconds}`, 'HttpOnly', `SameSite=${this.sameSite}`];
    response.append(
      'Set-Cookie',
      [`${this.name}=${value}`, ...attributes, ...(this.isSecure ? ['Secure'] : [])].join('; '),
    );
  }
}

/** The cookie that contains the session of a browser. */
@Injectable()
export class SessionCookie extends BrowserCookie {
  constructor(settings: Settings) {
    super(settings, 'session', 'Strict', settings.sessionTtl);
  }
}

/** Binds a sign-in by OpenID Connect to its browser. The provider is another site, from which no `Strict` cookie is sent. */
@Injectable()
export class OpenIdCookie extends BrowserCookie {
  constructor(settings: Settings) {
    super(settings, 'openid', 'Lax', OPENID_SIGN_IN_MS);
  }
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a request that a cookie authenticates comes from the console itself, or changes nothing. */
export const isFromConsole = ({ method = '', headers }: IncomingMessage): boolean =>
  SAFE_METHODS.has(method) || isSentByConsole(headers);

/** Pages of other sites can neither set the header nor forge what the browser says about them. */
export function isSentByConsole(headers: IncomingMessage['headers']): boolean {
  const site = headers['sec-fetch-site'];
  return headers[CONSOLE_HEADER.toLowerCase()] !== undefined && (site === undefined || site === 'same-origin');
}
