import { randomBytes } from 'node:crypto';
import { base62 } from '#platform/kernel';
import type { SignatureScheme } from './signing/signature-scheme.js';

const RANDOM_BYTES = 32;
/** 32 bytes need 43 digits of base 62. */
const DIGITS = 43;
/** Proxies reject longer headers and paths. */
const MAX_TOKEN = 4096;
const MAX_URL_TOKEN = 512;
const URL_SAFE = /^[A-Za-z0-9._~-]+$/;
/** Characters that an HTTP header transports unchanged. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/** How the senders of a webhook authenticate; `scheme` with `signature` only, null when the id is unknown here. */
export interface Authentication {
  readonly authMode: string;
  readonly scheme: SignatureScheme | null;
}

export const SECRET_NOT_ALLOWED = 'is allowed with `auth_mode` signature only: the service generates it in the others';

/** A new secret; null when the sender generates it. */
export const generateCredential = ({ authMode, scheme }: Authentication): string | null =>
  authMode === 'signature' ? (scheme?.generateSecret() ?? null) : base62(randomBytes(RANDOM_BYTES), DIGITS);

/** Why the secret cannot be used; null when it can. Completes "`secret` …" and never contains the secret. */
export function credentialFault({ authMode, scheme }: Authentication, secret: string): string | null {
  switch (authMode) {
    case 'url_token':
      // Path segments of one or two dots are resolved by clients.
      if (!URL_SAFE.test(secret) || /^\.{1,2}$/.test(secret))
        return 'must consist of letters, digits and . _ ~ - only, because it is part of a URL';
      return tooLong(secret, MAX_URL_TOKEN);
    case 'signature':
      return scheme ? signingFault(scheme, secret) : 'belongs to an unknown signature scheme';
    // `token`, and the modes of plugins.
    default:
      if (!HEADER_SAFE.test(secret))
        return 'must consist of printable ASCII without spaces, because it is sent in a header';
      return tooLong(secret, MAX_TOKEN);
  }
}

/** Schemes return sentences. */
function signingFault(scheme: SignatureScheme, secret: string): string | null {
  const fault = scheme.checkSecret(secret);
  return fault === null ? null : `is not a secret of ${scheme.label}: ${fault.replace(/\.$/, '')}`;
}

const tooLong = (secret: string, limit: number): string | null =>
  secret.length > limit ? `must not exceed ${limit} characters` : null;
