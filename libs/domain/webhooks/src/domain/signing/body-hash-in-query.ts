import { createHash } from 'node:crypto';

/**
 * For senders that sign only the address and put the body's hash into its query. Whether the parameter is there, once,
 * and is the hexadecimal SHA-256 of the body.
 */
export function bindsBody(url: string, parameter: string, body: Buffer): boolean {
  const start = url.indexOf('?');
  if (start < 0) return false;
  const values = new URLSearchParams(url.slice(start + 1)).getAll(parameter);
  return values.length === 1 && values[0] === hashOf(body);
}

export function withBodyHash(url: string, parameter: string, body: Buffer): string {
  return `${url}${url.includes('?') ? '&' : '?'}${parameter}=${hashOf(body)}`;
}

const hashOf = (body: Buffer): string => createHash('sha256').update(body).digest('hex');
