import { createHmac, createPublicKey, hash as digestOf, type KeyObject, timingSafeEqual, verify } from 'node:crypto';

/** The encoding of a digest, a signature or a key. Hexadecimal is lower case. */
export type TextEncoding = 'hex' | 'base64' | 'base64url';

/**
 * Decodes only the canonical encoding: correct alphabet, correct padding, no unused bits. Null for everything else, where
 * the decoder of Node would skip unknown characters.
 */
export function decodeStrictly(text: string, encoding: TextEncoding): Buffer | null {
  const bytes = Buffer.from(text, encoding);
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : null;
}

/** How the key is derived from the secret that the sender displays. */
export interface KeyFormat {
  /** Null when the secret does not have this format. */
  read(secret: string): Buffer | null;
  /** The error for another format; describes the format, never contains the secret. */
  readonly expected: string;
}

export const verbatimKey: KeyFormat = {
  read: (secret) => Buffer.from(secret, 'utf8'),
  expected: 'The secret is empty or blank.',
};

/** Base64 with an optional prefix: senders show the secret with and without it. */
export function base64Key(options: { prefix?: string; minBytes: number; maxBytes: number }): KeyFormat {
  const { prefix = '', minBytes, maxBytes } = options;
  const size = minBytes === maxBytes ? String(minBytes) : `${minBytes} to ${maxBytes}`;
  const optional = prefix === '' ? '' : `, with or without the prefix ${prefix}`;
  return {
    read: (secret) => {
      const bytes = decodeStrictly(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, 'base64');
      return bytes !== null && bytes.length >= minBytes && bytes.length <= maxBytes ? bytes : null;
    },
    expected: `The secret must be the base64 of ${size} bytes${optional}.`,
  };
}

export const standardWebhooksKey = base64Key({ prefix: 'whsec_', minBytes: 24, maxBytes: 64 });

/** Signs and verifies bytes. The parts of the content are signed as one sequence. */
export interface SigningAlgorithm {
  /** Why the secret is not valid; null when it is. */
  checkSecret(secret: string): string | null;
  /** Whether any of the candidates, as they were sent, is a signature of the content. Never throws. */
  accepts(content: readonly Buffer[], candidates: readonly string[], secret: string): boolean;
  /** Null when the secret can only verify. */
  sign(content: readonly Buffer[], secret: string): string | null;
}

export interface HmacOptions {
  readonly hash: 'sha256' | 'sha1' | 'sha512';
  readonly encoding: TextEncoding;
  /** Default: the characters of the secret. */
  readonly key?: KeyFormat;
}

export function hmac({ hash, encoding, key = verbatimKey }: HmacOptions): SigningAlgorithm {
  const digest = (content: readonly Buffer[], secret: string): Buffer | null => {
    const bytes = key.read(secret);
    if (bytes === null || bytes.length === 0) return null;
    const mac = createHmac(hash, bytes);
    for (const part of content) mac.update(part);
    return mac.digest();
  };
  return {
    checkSecret: (secret) => (key.read(secret) === null ? key.expected : null),
    accepts: (content, candidates, secret) => {
      const expected = digest(content, secret);
      if (expected === null) return false;
      // All candidates are compared, so that the duration does not reveal which one matched.
      return candidates.reduce((found, text) => isSame(decodeStrictly(text, encoding), expected) || found, false);
    },
    sign: (content, secret) => digest(content, secret)?.toString(encoding) ?? null,
  };
}

export interface PublicKeyOptions {
  readonly encoding: TextEncoding;
  /** Reads the public key of the sender from the configured secret; null when it is not a key. */
  readonly key: (secret: string) => KeyObject | null;
  readonly expected: string;
  /** Hash of the signed content; null for Ed25519, which includes one. */
  readonly hash: 'sha256' | null;
}

export function publicKey({ encoding, key, expected, hash }: PublicKeyOptions): SigningAlgorithm {
  return {
    checkSecret: (secret) => (key(secret) === null ? expected : null),
    accepts: (content, candidates, secret) => {
      const keyObject = key(secret);
      if (keyObject === null) return false;
      const bytes = Buffer.concat(content);
      return candidates.some((text) => {
        const signature = decodeStrictly(text, encoding);
        return signature !== null && verify(hash, bytes, keyObject, signature);
      });
    },
    sign: () => null,
  };
}

/** A DER public key of the expected kind; null for all other bytes. */
export function readPublicKey(der: Buffer, isWanted: (key: KeyObject) => boolean): KeyObject | null {
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return isWanted(key) ? key : null;
  } catch {
    return null;
  }
}

/** The DER prefix of the 32 bytes of an Ed25519 public key (RFC 8410). */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 public key from its 32 bytes; null for another length. */
export function readEd25519Key(raw: Buffer | null): KeyObject | null {
  if (raw?.length !== 32) return null;
  return readPublicKey(Buffer.concat([ED25519_SPKI, raw]), (key) => key.asymmetricKeyType === 'ed25519');
}

/** In constant time for texts of any length, because digests are compared, which have one length. */
export const isSameText = (given: string, expected: string): boolean =>
  timingSafeEqual(digestOf('sha256', given, 'buffer'), digestOf('sha256', expected, 'buffer'));

const isSame = (given: Buffer | null, expected: Buffer): boolean =>
  given !== null && given.length === expected.length && timingSafeEqual(given, expected);
