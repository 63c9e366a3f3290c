import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { type KeyFormat, verbatimKey } from './secret-keys.js';
import { decodeStrictly, type TextEncoding } from './strict-encoding.js';

/** What makes and checks a signature over bytes. The parts of the content are signed as if they were one. */
export interface SigningAlgorithm {
  /** Why it cannot be a secret here; null when it can. */
  checkSecret(secret: string): string | null;
  /** Whether any of the candidates, as they were sent, is a signature of the content. Never throws. */
  accepts(content: readonly Buffer[], candidates: readonly string[], secret: string): boolean;
  /** Null where the secret only checks. */
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
      // All are compared, so that the time taken says nothing about which one it was.
      return candidates.reduce((found, text) => isSame(decodeStrictly(text, encoding), expected) || found, false);
    },
    sign: (content, secret) => digest(content, secret)?.toString(encoding) ?? null,
  };
}

export interface PublicKeyOptions {
  readonly encoding: TextEncoding;
  /** Reads the sender's public key out of what is configured as the secret; null when it is none. */
  readonly key: (secret: string) => KeyObject | null;
  readonly expected: string;
  /** Of the signed content; null for Ed25519, which has its own. */
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

/** A DER public key of the wanted kind; null for every other bytes. */
export function readPublicKey(der: Buffer, isWanted: (key: KeyObject) => boolean): KeyObject | null {
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return isWanted(key) ? key : null;
  } catch {
    // Bytes that are no key are nobody's key.
    return null;
  }
}

/** What stands before the 32 bytes of an Ed25519 key in a DER public key (RFC 8410). */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 public key from its 32 bytes; null for other lengths. */
export function readEd25519Key(raw: Buffer | null): KeyObject | null {
  if (raw?.length !== 32) return null;
  return readPublicKey(Buffer.concat([ED25519_SPKI, raw]), (key) => key.asymmetricKeyType === 'ed25519');
}

const isSame = (given: Buffer | null, expected: Buffer): boolean =>
  given !== null && given.length === expected.length && timingSafeEqual(given, expected);
