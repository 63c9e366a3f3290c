import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ObjectStore, ObjectTooLargeError, type StoredObject } from '#platform/storage';

export interface ObjectStoreUnderTest {
  readonly store: ObjectStore;
  /** Asks a signed URL of this store as a stranger would, without any token. Default: GET. */
  fetch(url: string, method?: string, body?: string): Promise<Response>;
  /** Lets time pass for the store's signatures. */
  advance(milliseconds: number): void;
  close(): Promise<void>;
}

/** What the service behind a store cannot show, with the reason; those cases are skipped and count as not proven there. */
export interface ConformanceGaps {
  /** It does not check signatures. */
  readonly signatures?: string;
  /** It does not replace objects as a whole. */
  readonly replacement?: string;
}

const text = (value: string): Buffer => Buffer.from(value);

/** What every object store must do. An adapter's spec is one call of this. */
export function objectStoreConformance(
  name: string,
  make: () => Promise<ObjectStoreUnderTest>,
  gaps: ConformanceGaps = {},
): void {
  const itSigns = it.skipIf(gaps.signatures !== undefined);
  const itReplaces = it.skipIf(gaps.replacement !== undefined);
  describe(`${name} as an object store`, () => {
    let subject: ObjectStoreUnderTest;
    let store: ObjectStore;
    const read = async (key: string): Promise<string | null> => {
      const found = await store.get(key);
      return found && (await buffer(found.stream)).toString();
    };

    const facts = async (key: string): Promise<Pick<StoredObject, 'sizeBytes' | 'contentType'> | null> => {
      const found = await store.get(key);
      found?.stream.destroy();
      return found && { sizeBytes: found.sizeBytes, contentType: found.contentType };
    };

    beforeAll(async () => {
      subject = await make();
      ({ store } = subject);
    });
    afterAll(() => subject.close());

    it('gives back what was put, with its size and media type', async () => {
      const bytes = Buffer.from([0, 255, 10, 13, 10, 0, 128]);
      expect(await store.put('a/bytes.bin', bytes, { contentType: 'application/x-thing' })).toEqual({ sizeBytes: 7 });
      const found = await store.get('a/bytes.bin');
      expect(found).toMatchObject({ sizeBytes: 7, contentType: 'application/x-thing' });
      expect(found && (await buffer(found.stream))).toEqual(bytes);
    });

    it('stores a stream of many chunks, and an empty object', async () => {
      const chunks = Array.from({ length: 200 }, (_, index) => text(`chunk ${index}\n`));
      const whole = Buffer.concat(chunks);
      expect(await store.put('stream', Readable.from(chunks), { contentType: 'text/plain' })).toEqual({
        sizeBytes: whole.length,
      });
      expect(await read('stream')).toBe(whole.toString());
      await store.put('empty', Buffer.alloc(0), { contentType: 'text/plain' });
      expect(await facts('empty')).toMatchObject({ sizeBytes: 0 });
      expect(await read('empty')).toBe('');
    });

    it('replaces content and media type together', async () => {
      await store.put('replaced', text('a long first version'), { contentType: 'text/plain' });
      await store.put('replaced', text('second'), { contentType: 'text/markdown' });
      expect(await facts('replaced')).toEqual({ sizeBytes: 6, contentType: 'text/markdown' });
      expect(await read('replaced')).toBe('second');
    });

    itReplaces('shows readers one version or the other while writers race', async () => {
      await store.put('raced', text('0'.repeat(5000)), { contentType: 'text/plain' });
      const writes = Array.from({ length: 8 }, (_, index) =>
        store.put('raced', text(String(index).repeat(5000 + index)), { contentType: 'text/plain' }),
      );
      const seen = await Promise.all(Array.from({ length: 16 }, () => read('raced')));
      await Promise.all(writes);
      for (const version of [...seen, await read('raced')]) expect(version).toMatch(/^(\d)\1{4999,5006}$/);
    });

    it('keeps the old object when a new one is too large or breaks off', async () => {
      await store.put('kept', text('old'), { contentType: 'text/plain' });
      const tooLarge = Readable.from(Array.from({ length: 100 }, () => text('12345')));
      await expect(store.put('kept', tooLarge, { contentType: 'text/plain', maxBytes: 9 })).rejects.toThrow(
        ObjectTooLargeError,
      );
      expect(tooLarge.destroyed).toBe(false);
      const broken = Readable.from(
        (function* () {
          yield text('begun');
          throw new Error('connection lost');
        })(),
      );
      await expect(store.put('kept', broken, { contentType: 'text/plain' })).rejects.toThrow('connection lost');
      expect(await read('kept')).toBe('old');
      expect(await store.put('kept', text('123456789'), { contentType: 'text/plain', maxBytes: 9 })).toEqual({
        sizeBytes: 9,
      });
    });

    it('answers null for what is not there, also below and above an object', async () => {
      await store.put('there/x', text('x'), { contentType: 'text/plain' });
      for (const key of ['nothing', 'there', 'there/x/y']) expect(await store.get(key)).toBeNull();
    });

    it('lets a key be the prefix of another', async () => {
      await store.put('both/one', text('inner'), { contentType: 'text/plain' });
      await store.put('both', text('outer'), { contentType: 'text/plain' });
      expect([await read('both'), await read('both/one')]).toEqual(['outer', 'inner']);
    });

    it('deletes one object, twice without complaint', async () => {
      await store.put('gone/a', text('a'), { contentType: 'text/plain' });
      await store.put('gone/b', text('b'), { contentType: 'text/plain' });
      await store.delete('gone/a');
      await store.delete('gone/a');
      expect([await read('gone/a'), await read('gone/b')]).toEqual([null, 'b']);
    });

    it('deletes below a prefix and nothing beside it', async () => {
      for (const key of ['p/1', 'p/2/3', 'p', 'pp/1']) await store.put(key, text(key), { contentType: 'text/plain' });
      await store.deletePrefix('p');
      await store.deletePrefix('p');
      expect(await Promise.all(['p/1', 'p/2/3', 'p', 'pp/1'].map(read))).toEqual([null, null, 'p', 'pp/1']);
    });

    it.each([
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      'a b',
      'ä',
      'a\\b',
      'a\0',
      'a@',
      'x'.repeat(300),
    ])('refuses the key %j everywhere', async (key) => {
      await expect(store.put(key, text(''), { contentType: 'text/plain' })).rejects.toThrow('object key');
      await expect(store.get(key)).rejects.toThrow('object key');
      await expect(store.delete(key)).rejects.toThrow('object key');
      await expect(store.deletePrefix(key)).rejects.toThrow('object key');
      await expect(Promise.resolve().then(() => store.signedUrl(key, { ttlMs: 1000 }))).rejects.toThrow('object key');
    });

    it('gives an object to anybody who has its signed URL, with name and media type as signed', async () => {
      await store.put('signed/t.jsonl', text('{"a":1}\n'), { contentType: 'application/octet-stream' });
      const url = await store.signedUrl('signed/t.jsonl', {
        ttlMs: 60_000,
        fileName: 'Übung 1.jsonl',
        contentType: 'application/jsonl',
      });
      const response = await subject.fetch(url);
      expect([response.status, await response.text()]).toEqual([200, '{"a":1}\n']);
      expect(response.headers.get('content-type')).toBe('application/jsonl');
      expect(response.headers.get('content-disposition')).toMatch(
        /^attachment;.*filename\*=UTF-8''%C3%9Cbung%201\.jsonl$/,
      );
    });

    it('answers 404 to a signed URL of an object that is not there', async () => {
      expect((await subject.fetch(await store.signedUrl('signed/none', { ttlMs: 5000 }))).status).toBe(404);
    });

    describe('a signed URL', () => {
      const signed = (ttlMs = 60_000): Promise<string> =>
        store.signedUrl('signed/t.jsonl', { ttlMs, fileName: 'a.txt', contentType: 'text/plain' });
      const statusOf = async (url: string): Promise<number> => (await subject.fetch(url)).status;

      beforeAll(async () => {
        await store.put('signed/t.jsonl', text('{"a":1}\n'), { contentType: 'application/octet-stream' });
        await store.put('signed/other', text('secret'), { contentType: 'text/plain' });
      });

      itSigns('fails for another object', async () => {
        const url = await signed();
        expect(await statusOf(url)).toBe(200);
        expect(await statusOf(url.replace('signed/t.jsonl', 'signed/other'))).toBe(403);
        expect(await statusOf(url.replace('signed/t.jsonl', 'signed/none'))).toBe(403);
      });

      itSigns('fails with any part of its query changed or taken away, or with one more', async () => {
        const url = await signed();
        const names = [...new URL(url).searchParams.keys()];
        expect(names.length).toBeGreaterThanOrEqual(4);
        for (const name of names) {
          const [changed, without] = [new URL(url), new URL(url)];
          changed.searchParams.set(name, `${changed.searchParams.get(name) ?? ''}0`);
          without.searchParams.delete(name);
          expect([name, await statusOf(changed.href), await statusOf(without.href)]).toEqual([name, 403, 403]);
        }
        expect(await statusOf(`${url}&x=1`)).toBe(403);
      });

      itSigns('fails with a truncated signature', async () => {
        const url = new URL(await signed());
        const name = [...url.searchParams.keys()].find((key) => /signature$/i.test(key)) ?? '';
        url.searchParams.set(name, url.searchParams.get(name)?.slice(0, -2) ?? '');
        expect(await statusOf(url.href)).toBe(403);
      });

      itSigns('lets nobody write or delete', async () => {
        const url = await signed();
        for (const [method, body] of [['PUT', 'forged'], ['POST', 'forged'], ['DELETE']] as const) {
          expect((await subject.fetch(url, method, body)).status).toBeGreaterThanOrEqual(400);
        }
        expect(await read('signed/t.jsonl')).toBe('{"a":1}\n');
      });

      // The last one: what is signed afterwards would be late too, where the service has its own clock.
      itSigns('fails after its time', async () => {
        const url = await signed(5000);
        expect(await statusOf(url)).toBe(200);
        subject.advance(7000);
        expect(await statusOf(url)).toBe(403);
      });
    });
  });
}
