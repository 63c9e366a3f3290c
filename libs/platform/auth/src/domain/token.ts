import { hash, randomBytes } from 'node:crypto';
import { base62 } from '#platform/kernel';

/** `session`: the cookie of a browser. `login_link`: creates one session. */
export type TokenKind = 'api' | 'session' | 'login_link';
/** `invitation`: the code of an invitation, which is no token of a principal. */
export type SecretKind = TokenKind | 'invitation';

/** What a value begins with. */
export const TOKEN_PREFIXES: Readonly<Record<SecretKind, string>> = {
  api: 'hr_',
  session: 'hs_',
  login_link: 'hl_',
  invitation: 'hi_',
};
const RANDOM_BYTES = 32;
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
const SHOWN = TOKEN_PREFIXES.api.length + 4;

/** The prefix of its kind and 32 random bytes in base62. */
export function newToken(kind: SecretKind = 'api'): string {
  return TOKEN_PREFIXES[kind] + base62(randomBytes(RANDOM_BYTES), DIGITS);
}

export function isTokenShaped(value: string, kind: SecretKind = 'api'): boolean {
  return value.startsWith(TOKEN_PREFIXES[kind]) && /^[0-9A-Za-z]{43}$/.test(value.slice(TOKEN_PREFIXES[kind].length));
}

/** The stored form. A token is fully random, so a digest without salt is enough. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** The prefix that lists show: `hr_aB3x…`. */
export function displayPrefix(token: string): string {
  return `${token.slice(0, SHOWN)}…`;
}

/** `no_bearer`: a header without the scheme `Bearer`. */
export type TokenRefusal = 'missing' | 'no_bearer' | 'malformed' | 'unknown' | 'expired' | 'revoked';

/** The token of an `Authorization` header, or why there is none. The scheme is not case-sensitive (RFC 9110). */
export function readBearer(
  header: string | undefined,
): { readonly token: string } | { readonly refusal: 'missing' | 'no_bearer' | 'malformed' } {
  if (header === undefined || header.trim() === '') return { refusal: 'missing' };
  if (!/^Bearer(?: |$)/i.test(header)) return { refusal: 'no_bearer' };
  const match = /^Bearer +(\S+) *$/i.exec(header);
  const token = match?.[1];
  return token !== undefined && isTokenShaped(token) ? { token } : { refusal: 'malformed' };
}
