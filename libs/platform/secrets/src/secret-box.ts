import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Settings } from '#platform/config';
import { Injectable } from '@nestjs/common';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Enough to tell the few keys of an installation apart; says nothing about the key. */
const KEY_ID_BYTES = 4;
const SEALED = new RegExp(`^${VERSION}\\.([0-9a-f]{${KEY_ID_BYTES * 2}})\\.([A-Za-z0-9_-]+)$`);

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/** A sealed value that does not open: changed, moved to another place, or sealed with a key that is not known here. */
export class SealBrokenError extends Error {
  constructor(readonly reason: 'malformed' | 'unknown_key' | 'not_authentic') {
    super(`A sealed value does not open (${reason}).`);
    this.name = 'SealBrokenError';
  }
}

/**
 * Encrypts values that lie in tables: AES-256-GCM under a key derived from SECRETS_KEY, a random 96-bit nonce a value.
 * Keys of SECRETS_KEY_PREVIOUS open and never seal.
 * The text is `v1.<key id>.<nonce, ciphertext and tag in base64url>`.
 *
 * `context` names the place that a value belongs to, such as `run/<id>/mcp-servers`. It is authenticated and not stored:
 * a value that is copied to another row does not open there.
 */
@Injectable()
export class SecretBox {
  private readonly current: Key;
  private readonly keys: ReadonlyMap<string, Key>;

  constructor(settings: Settings) {
    if (settings.secretsKey === undefined) throw new Error('SECRETS_KEY is needed: it encrypts secrets.');
    this.current = deriveKey(settings.secretsKey);
    const others = settings.secretsKeyPrevious.map(deriveKey);
    // The current one last: it wins where it is named among the others too.
    this.keys = new Map([...others, this.current].map((key) => [key.id, key]));
  }

  /** Under the current key. */
  seal(plain: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.current.bytes, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(this.current.id, context));
    const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${this.current.id}.${sealed.toString('base64url')}`;
  }

  /** Under the current key, or one of SECRETS_KEY_PREVIOUS. Throws a {@link SealBrokenError}. */
  open(sealed: string, context: string): string {
    const [, keyId = '', payload = ''] = SEALED.exec(sealed) ?? [];
    const bytes = Buffer.from(payload, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SealBrokenError('malformed');
    const key = this.keys.get(keyId);
    if (!key) throw new SealBrokenError('unknown_key');
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(keyId, context));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const start = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([start, decipher.final()]).toString('utf8');
    } catch {
      throw new SealBrokenError('not_authentic');
    }
  }

  /** Sealed anew under the current key, or null when it is under that already. Throws a {@link SealBrokenError}. */
  reseal(sealed: string, context: string): string | null {
    const plain = this.open(sealed, context);
    return SEALED.exec(sealed)?.[1] === this.current.id ? null : this.seal(plain, context);
  }
}

const additionalData = (keyId: string, context: string): Buffer => Buffer.from(`${VERSION}\0${keyId}\0${context}`);

function deriveKey(secretsKey: string): Key {
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', secretsKey, '', `headrace/secret-box/${VERSION}/${purpose}`, length));
  return { id: derive('key-id', KEY_ID_BYTES).toString('hex'), bytes: derive('key', KEY_BYTES) };
}
