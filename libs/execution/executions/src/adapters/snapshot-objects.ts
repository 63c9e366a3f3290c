import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { SnapshotDamagedError } from '#execution/runner-protocol';
import { encryptedColumn, SecretBox } from '#platform/secrets';
import { chunksOf, ObjectStore } from '#platform/storage';
import type { PackLocation, StoredPack } from '../persistence/snapshots.store.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** Each key encrypts one object, so its nonce may be constant. */
const NONCE = Buffer.alloc(12);
const CONTENT_TYPE = 'application/octet-stream';

/** Objects from before encryption have no key. */
const CONTENT_KEY = encryptedColumn({
  table: 'snapshot_packs',
  key: { column: 'id', type: 'uuid' },
  context: ['id'],
  column: 'content_key',
  purpose: ({ id }) => `snapshot-pack/${id}/content-key`,
});

export const EXECUTIONS_ENCRYPTED_COLUMNS = [CONTENT_KEY];

/**
 * Manifests and packs in the object store. Each is encrypted with a separate key, which its row has, sealed with SECRETS_KEY:
 * a change of SECRETS_KEY changes rows and no objects. The object is the ciphertext, then the tag.
 */
@Injectable()
export class SnapshotObjects {
  constructor(
    private readonly objects: ObjectStore,
    private readonly box: SecretBox,
  ) {}

  /** Rejects with ObjectTooLargeError. */
  async put(id: string, objectKey: string, content: Readable | Buffer, maxBytes: number): Promise<StoredPack> {
    const key = randomBytes(KEY_BYTES);
    const encrypted = Readable.from(encrypt(content, key), { objectMode: false });
    // The store rejects with it; after the store has given up, nobody listens.
    encrypted.on('error', () => undefined);
    const options = { contentType: CONTENT_TYPE, maxBytes: maxBytes + TAG_BYTES };
    const { sizeBytes } = await this.objects.put(objectKey, encrypted, options);
    const contentKey = this.box.sealColumn(CONTENT_KEY, { id }, key.toString('base64'));
    return { id, objectKey, contentKey, sizeBytes };
  }

  /** Null: it is not stored any more. Rejects with SnapshotDamagedError. */
  async get({ id, objectKey, contentKey }: PackLocation): Promise<Buffer | null> {
    const found = await this.objects.get(objectKey);
    if (found === null) return null;
    const stored = await buffer(found.stream);
    if (contentKey === null) return stored;
    return decrypt(stored, Buffer.from(this.box.openColumn(CONTENT_KEY, { id }, contentKey), 'base64'));
  }
}

async function* encrypt(content: Readable | Buffer, key: Buffer): AsyncGenerator<Buffer> {
  const cipher = createCipheriv(CIPHER, key, NONCE, { authTagLength: TAG_BYTES });
  for await (const chunk of chunksOf(content)) yield cipher.update(chunk);
  yield Buffer.concat([cipher.final(), cipher.getAuthTag()]);
}

function decrypt(stored: Buffer, key: Buffer): Buffer {
  const decipher = createDecipheriv(CIPHER, key, NONCE, { authTagLength: TAG_BYTES });
  try {
    decipher.setAuthTag(stored.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(stored.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw new SnapshotDamagedError('A part of the snapshot is damaged.', { cause: error });
  }
}
