import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { Settings } from '#platform/config';
import { Injectable } from '@nestjs/common';
import { type EncryptedColumn, mapValues, onSealed } from './encrypted-column.js';

const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Enough to distinguish the few keys of an installation; it reveals nothing about the key. */
const KEY_ID_BYTES = 4;
const SEALED = new RegExp(`^${VERSION}\\.([0-9a-f]{${KEY_ID_BYTES * 2}})\\.([A-Za-z0-9_-]+)$`);

interface Key {
  readonly id: string;
  readonly bytes: Buffer;
}

/** A sealed value that does not open: it was changed, moved to another row, or sealed with a key that is not known here. */
export class SealBrokenError extends Error {
  constructor(readonly reason: 'malformed' | 'unknown_key' | 'not_authentic') {
    super(`A sealed value does not open (${reason}).`);
    this.name = 'SealBrokenError';
  }
}

/**
 * Encrypts values in tables: AES-256-GCM under a key derived from SECRETS_KEY, with a random 96-bit nonce for each value.
 * Keys of SECRETS_KEY_PREVIOUS open values and never seal them.
 * The text is `v1.<key id>.<nonce, ciphertext and tag in base64url>`.
 *
 * `purpose` names the one value that a text is sealed for, such as `run/<id>/mcp-servers`. It is authenticated and not
 * stored: a value that is copied to another row does not open there.
 */
@Injectable()
export class SecretBox {
  private readonly current: Key;
  private readonly keys: ReadonlyMap<string, Key>;

  constructor(settings: Settings) {
    if (settings.secretsKey === undefined) throw new Error('SECRETS_KEY is required: secrets are encrypted with it.');
    this.current = deriveKey(settings.secretsKey);
    const others = settings.secretsKeyPrevious.map(deriveKey);
    // The current key comes last, so that it wins when it is listed among the previous ones too.
    this.keys = new Map([...others, this.current].map((key) => [key.id, key]));
  }

  /** Under the current key. */
  seal(plain: string, purpose: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.current.bytes, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(this.current.id, purpose));
    const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${this.current.id}.${sealed.toString('base64url')}`;
  }

  /** Under the current key, or one of SECRETS_KEY_PREVIOUS. Throws a {@link SealBrokenError}. */
  open(sealed: string, purpose: string): string {
    const [, keyId = '', payload = ''] = SEALED.exec(sealed) ?? [];
    const bytes = Buffer.from(payload, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new SealBrokenError('malformed');
    const key = this.keys.get(keyId);
    if (!key) throw new SealBrokenError('unknown_key');
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(keyId, purpose));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const start = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([start, decipher.final()]).toString('utf8');
    } catch {
      throw new SealBrokenError('not_authentic');
    }
  }

  /** Sealed again under the current key, or null when it is under that key already. Throws a {@link SealBrokenError}. */
  reencrypt(sealed: string, purpose: string): string | null {
    const plain = this.open(sealed, purpose);
    return SEALED.exec(sealed)?.[1] === this.current.id ? null : this.seal(plain, purpose);
  }

  /** A value of the column, or a document with such values, as it is stored in the row of `context`. */
  sealColumn<Context extends string, Value>(
    column: EncryptedColumn<Context>,
    context: Readonly<Record<Context, string>>,
    plain: Value,
  ): Value {
    const prefix = column.json?.prefix ?? '';
    return mapValues(column, plain, context, (value, purpose) => prefix + this.seal(value, purpose)) as Value;
  }

  /** What {@link sealColumn} stored, in clear. Throws a {@link SealBrokenError}. */
  openColumn<Context extends string, Value>(
    column: EncryptedColumn<Context>,
    context: Readonly<Record<Context, string>>,
    stored: Value,
  ): Value {
    const open = onSealed(column, (sealed, purpose) => this.open(sealed, purpose), { keepsPrefix: false });
    return mapValues(column, stored, context, open) as Value;
  }
}

const additionalData = (keyId: string, purpose: string): Buffer => Buffer.from(`${VERSION}\0${keyId}\0${purpose}`);

function deriveKey(secretsKey: string): Key {
  const derive = (use: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', secretsKey, '', `headrace/secret-box/${VERSION}/${use}`, length));
  return { id: derive('key-id', KEY_ID_BYTES).toString('hex'), bytes: derive('key', KEY_BYTES) };
}
