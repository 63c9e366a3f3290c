import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { Settings } from '#platform/config';

/** Without it a request with a cookie changes nothing: other sites cannot send it. */
export const CONSOLE_HEADER = 'X-Headrace-Console';

/** The cookie that contains the session of a browser. */
@Injectable()
export class SessionCookie {
  readonly name: string;
  private readonly isSecure: boolean;
  private readonly maxAgeSeconds: number;

  constructor({ publicUrl, sessionTtl }: Settings) {
    const { protocol, port } = new URL(publicUrl);
    this.isSecure = protocol === 'https:';
    // Browsers send the cookies of a host to all of its ports.
    this.name = this.isSecure ? '__Host-headrace_session' : `headrace_session_${port === '' ? '80' : port}`;
    this.maxAgeSeconds = Math.floor(sessionTtl / 1000);
  }

  read({ headers }: IncomingMessage): string | undefined {
    for (const pair of (headers.cookie ?? '').split(';')) {
      const [name = '', value] = pair.split('=', 2);
      if (name.trim() === this.name && value !== undefined && value.trim() !== '') return value.trim();
    }
    return undefined;
  }

  set(response: Response, value: string): void {
    this.write(response, value, this.maxAgeSeconds);
  }

  clear(response: Response): void {
    this.write(response, '', 0);
  }

  private write(response: Response, value: string, maxAgeSeconds: number): void {
    const attributes = ['Path=/', `Max-Age=${maxAgeSeconds}`, 'HttpOnly', 'SameSite=Strict'];
    response.setHeader(
      'Set-Cookie',
      [`${this.name}=${value}`, ...attributes, ...(this.isSecure ? ['Secure'] : [])].join('; '),
    );
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
