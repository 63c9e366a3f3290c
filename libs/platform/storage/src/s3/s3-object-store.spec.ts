import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '#platform/config';
import {
  objectStoreConformance,
  S3RVER_KEYS,
  startS3rver,
  startVerifyingS3,
  VERIFYING_S3_KEYS,
  type VerifyingS3,
} from '#testing';
import { ObjectStoreUnavailableError, ObjectTooLargeError } from '../object-store.js';
import { openConfiguredS3 } from './open-configured-store.js';
import { S3ObjectStore } from './s3-object-store.js';
import type { S3Limits } from './s3-sdk.js';

const BUCKET = 'headrace-test';
const MIB = 1024 * 1024;
const ask = (url: string, method = 'GET', body?: string): Promise<Response> =>
  fetch(url, { method, ...(body === undefined ? {} : { body }) });

const openOn = (
  endpoint: string,
  credentials: typeof VERIFYING_S3_KEYS | typeof S3RVER_KEYS,
  limits: Partial<S3Limits> = {},
) => S3ObjectStore.open({ bucket: BUCKET, prefix: 'some/prefix', endpoint, forcePathStyle: true, credentials, limits });

objectStoreConformance('S3ObjectStore on a server that verifies signatures', async () => {
  const server = await startVerifyingS3(BUCKET);
  const store = await openOn(server.url, VERIFYING_S3_KEYS);
  return {
    store,
    fetch: ask,
    advance: (milliseconds) => server.advance(milliseconds),
    close: async () => {
      store.close();
      await server.close();
    },
  };
});

objectStoreConformance(
  'S3ObjectStore on s3rver',
  async () => {
    const server = await startS3rver(BUCKET);
    const store = await openOn(server.url, S3RVER_KEYS);
    return {
      store,
      fetch: ask,
      advance: () => undefined,
      close: async () => {
        store.close();
        await server.close();
      },
    };
  },
  {
    signatures: 's3rver accepts any signature of version 4',
    replacement: 's3rver writes into the file that readers read',
  },
);

describe.each([
  ['the verifying server', startVerifyingS3, VERIFYING_S3_KEYS],
  ['s3rver', startS3rver, S3RVER_KEYS],
] as const)('a stream of several parts on %s', (_, start, keys) => {
  it('comes back whole', async () => {
    const server = await start(BUCKET);
    const store = await openOn(server.url, keys, { partBytes: 5 * MIB });
    try {
      const chunks = Array.from({ length: 12 }, (_item, index) => Buffer.alloc(MIB + index, index));
      const whole = Buffer.concat(chunks);
      expect(await store.put('big', Readable.from(chunks), { contentType: 'text/plain' })).toEqual({
        sizeBytes: whole.length,
      });
      const found = await store.get('big');
      expect(found).toMatchObject({ sizeBytes: whole.length, contentType: 'text/plain' });
      expect(found && whole.equals(await buffer(found.stream))).toBe(true);
    } finally {
      store.close();
      await server.close();
    }
  });
});

describe('the S3 store', () => {
  let server: VerifyingS3;
  let store: S3ObjectStore;
  beforeAll(async () => {
    server = await startVerifyingS3(BUCKET);
    store = await openOn(server.url, VERIFYING_S3_KEYS, { partBytes: 5 * MIB });
  });
  afterEach(() => server.bucket.objects.clear());
  afterAll(async () => {
    store.close();
    await server.close();
  });

  it('keeps to its prefix', async () => {
    await store.put('p/1', Buffer.from('x'), { contentType: 'text/plain' });
    server.bucket.objects.set('p/2', { content: Buffer.from('not ours'), contentType: 'text/plain' });
    expect(await store.get('p/2')).toBeNull();
    await store.deletePrefix('p');
    expect([...server.bucket.objects.keys()]).toEqual(['p/2']);
  });

  it('deletes a prefix of more objects than one listing names', async () => {
    for (let index = 0; index < 2345; index += 1) {
      server.bucket.objects.set(`some/prefix/many/${index}`, { content: Buffer.alloc(0), contentType: 'text/plain' });
    }
    await store.put('many', Buffer.from('beside'), { contentType: 'text/plain' });
    await store.deletePrefix('many');
    expect([...server.bucket.objects.keys()]).toEqual(['some/prefix/many']);
  });

  it('leaves no parts and no object when a long stream is too large or breaks off', async () => {
    const broken = Readable.from(
      (function* () {
        for (let index = 0; index < 8; index += 1) yield Buffer.alloc(MIB);
        throw new Error('connection lost');
      })(),
      { highWaterMark: 1 },
    );
    await expect(store.put('long', broken, { contentType: 'text/plain' })).rejects.toThrow('connection lost');
    const tooLarge = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(MIB)));
    await expect(store.put('long', tooLarge, { contentType: 'text/plain', maxBytes: 7 * MIB })).rejects.toThrow(
      ObjectTooLargeError,
    );
    expect([tooLarge.destroyed, server.bucket.pendingUploads, server.bucket.objects.size]).toEqual([false, 0, 0]);
  });

  it('tries again where S3 asks for patience, and says when that did not help', async () => {
    server.failWith(503, 500);
    await store.put('patient', Buffer.from('x'), { contentType: 'text/plain' });
    expect(server.bucket.objects.get('some/prefix/patient')?.content.toString()).toBe('x');
    server.failWith(503, 503, 503);
    await expect(store.get('patient')).rejects.toThrow(ObjectStoreUnavailableError);
  });

  it('does not ask twice where the answer is final', async () => {
    const stranger = await openOn(server.url, { ...VERIFYING_S3_KEYS, secretAccessKey: 'wrong' } as never);
    const refused = await stranger.get('x').catch((error: unknown) => error);
    stranger.close();
    expect(refused).toMatchObject({ name: 'SignatureDoesNotMatch' });
    expect(refused).not.toBeInstanceOf(ObjectStoreUnavailableError);
  });

  it('signs for seven days at most, and for a second at least', async () => {
    const expires = async (ttlMs: number) =>
      new URL(await store.signedUrl('x', { ttlMs })).searchParams.get('X-Amz-Expires');
    expect(await Promise.all([30 * 86_400_000, 1, 90_500].map(expires))).toEqual(['604800', '1', '91']);
  });

  it('is unavailable, soon and in every operation, when nobody listens', async () => {
    const gone = await startVerifyingS3(BUCKET);
    await gone.close();
    const lost = await openOn(gone.url, VERIFYING_S3_KEYS, { attempts: 2 });
    const operations = [
      () => lost.put('x', Buffer.from('x'), { contentType: 'text/plain' }),
      () => lost.get('x'),
      () => lost.delete('x'),
      () => lost.deletePrefix('x'),
    ];
    for (const operation of operations) {
      await expect(operation()).rejects.toMatchObject({ code: 'resource_unavailable', status: 503 });
    }
    lost.close();
  });

  it('gives up on a server that takes connections and says nothing', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const waiting = await openOn(`http://127.0.0.1:${port}`, VERIFYING_S3_KEYS, { attempts: 1, silenceMs: 300 });
    await expect(waiting.get('x')).rejects.toThrow(ObjectStoreUnavailableError);
    waiting.close();
    silent.close();
  });
});

describe('a store from settings', () => {
  let server: VerifyingS3;
  beforeAll(async () => {
    server = await startVerifyingS3(BUCKET);
  });
  afterAll(() => server.close());

  const settings = (changes: Record<string, string> = {}) =>
    parseSettings({
      OBJECT_STORE_URL: `s3://${BUCKET}/a/b`,
      S3_ENDPOINT: server.url,
      S3_FORCE_PATH_STYLE: 'true',
      S3_ACCESS_KEY_ID: VERIFYING_S3_KEYS.accessKeyId,
      S3_SECRET_ACCESS_KEY: VERIFYING_S3_KEYS.secretAccessKey,
      ...changes,
    });

  it('is none when objects stay on disk', async () => {
    expect(await openConfiguredS3(parseSettings({}))).toBeNull();
  });

  it('opens when the bucket answers', async () => {
    const store = await openConfiguredS3(settings());
    await store?.put('k', Buffer.from('x'), { contentType: 'text/plain' });
    store?.close();
    expect([...server.bucket.objects.keys()]).toEqual(['a/b/k']);
  });

  it.each<[string, Record<string, string>]>([
    ['there is no such bucket', { OBJECT_STORE_URL: 's3://another-bucket' }],
    ['the credentials are wrong', { S3_SECRET_ACCESS_KEY: 'wrong' }],
    ['does not answer (ECONNREFUSED)', { S3_ENDPOINT: 'http://127.0.0.1:1' }],
  ])('does not open, and says why: %s', async (reason, changes) => {
    const failure = await openConfiguredS3(settings(changes)).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'SettingsError' });
    expect(String(failure)).toContain('OBJECT_STORE_URL names the bucket');
    expect(String(failure)).toContain(reason);
    expect(String(failure)).not.toContain(VERIFYING_S3_KEYS.secretAccessKey);
  });
});
