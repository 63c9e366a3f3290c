import { randomBytes } from 'node:crypto';
import { base62 } from '#platform/kernel';
import type { SignatureScheme } from './signing/signature-scheme.js';
import type { AuthMode } from './webhook.js';

const RANDOM_BYTES = 32;
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
/** A header that is longer does not get through proxies, nor a path. */
const MAX_TOKEN = 4096;
const MAX_URL_TOKEN = 512;
const URL_SAFE = /^[A-Za-z0-9._~-]+$/;
/** What an HTTP header can carry unchanged. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/** How a webhook's senders prove who they are; `scheme` with `signature` only, null when this installation has none of the id. */
export interface Authentication {
  readonly authMode: AuthMode;
  readonly scheme: SignatureScheme | null;
}

/** A fresh secret; null where the sender is who makes it. */
export const generateCredential = ({ authMode, scheme }: Authentication): string | null =>
  authMode === 'signature' ? (scheme?.generateSecret() ?? null) : base62(randomBytes(RANDOM_BYTES), DIGITS);

/** Why a secret cannot be one of such a webhook; null when it can. Completes "`secret` …" and never tells the secret. */
export function credentialFault({ authMode, scheme }: Authentication, secret: string): string | null {
  switch (authMode) {
    case 'token':
      if (!HEADER_SAFE.test(secret)) return 'must be of printable ASCII without spaces, to go into a header';
      return tooLong(secret, MAX_TOKEN);
    case 'url_token':
      // A path of one or two dots is another path.
      if (!URL_SAFE.test(secret) || /^\.{1,2}$/.test(secret))
        return 'must be of letters, digits and . _ ~ - only, to go into a URL';
      return tooLong(secret, MAX_URL_TOKEN);
    case 'signature':
      return scheme ? signingFault(scheme, secret) : 'belongs to a signature scheme that does not exist here';
  }
}

/** Schemes speak in sentences. */
function signingFault(scheme: SignatureScheme, secret: string): string | null {
  const fault = scheme.checkSecret(secret);
  return fault === null ? null : `is none of ${scheme.label}: ${fault.replace(/\.$/, '')}`;
}

const tooLong = (secret: string, limit: number): string | null =>
  secret.length > limit ? `must not exceed ${limit} characters` : null;
