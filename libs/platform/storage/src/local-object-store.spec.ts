import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings, Settings, withSettings } from '#platform/config';
import { configureHttp, httpAdapter, HttpModule, Listener, RequestAuthenticator, serveHttp } from '#platform/http';
import { Clock } from '#platform/kernel';
import { ObservabilityModule } from '#platform/observability';
import { Database } from '#platform/persistence';
import { PluginsModule } from '#platform/plugins';
import { objectStoreConformance } from '#testing';
import { LocalObjectStore } from './local-object-store.js';
import { ObjectStoreUnavailableError } from './object-store.js';
import { SignedLinks } from './signed-links.js';
import { StorageHttpModule } from './storage.module.js';
import { StorageModule } from './storage.module.js';

class MovableClock extends Clock {
  offset = 0;
  override now = (): Date => new Date(Date.now() + this.offset);
}

interface Served {
  readonly app: NestExpressApplication;
  readonly clock: MovableClock;
  readonly dataDir: string;
  readonly store: LocalObjectStore;
  readonly close: () => Promise<void>;
}

/** The store behind the real HTTP edge, on a free port, in a separate directory. */
async function serve(): Promise<Served> {
  const dataDir = await mkdtemp(join(tmpdir(), 'headrace-objects-'));
  const clock = new MovableClock();
  // The module reads `publicUrl` late: the port is not known before the listener is.
  const settings: { -readonly [K in keyof Settings]: Settings[K] } = {
    ...withSettings(parseSettings({ SECRETS_KEY: 'k'.repeat(40) }), { dataDir }),
  };
  const provided = [
    { provide: Settings, useValue: settings },
    { provide: Clock, useValue: clock },
    { provide: Database, useValue: { query: () => Promise.resolve([]) } },
    {
      provide: RequestAuthenticator,
      useValue: { admit: () => Promise.reject(new Error('A public route asked for a token.')) },
    },
  ];
  @Global()
  @Module({
    imports: [DiscoveryModule],
    providers: provided,
    exports: [DiscoveryModule, ...provided.map(({ provide }) => provide)],
  })
  class Surroundings {}
  const builder = Test.createTestingModule({
    imports: [
      Surroundings,
      PluginsModule.of([], 'api'),
      ObservabilityModule,
      HttpModule,
      StorageModule,
      StorageHttpModule,
    ],
  });
  const listener = await Listener.open(settings, { host: '127.0.0.1', port: 0 });
  settings.publicUrl = listener.url;
  const app = (await builder.compile()).createNestApplication<NestExpressApplication>(httpAdapter(listener), {
    bodyParser: false,
    logger: false,
  });
  configureHttp(app, settings);
  await serveHttp(app, listener);
  return {
    app,
    clock,
    dataDir,
    store: app.get(LocalObjectStore),
    close: async () => {
      // Bodies that a test did not read keep their connections busy.
      await listener.close(0);
      await app.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

objectStoreConformance('LocalObjectStore', async () => {
  const { store, clock, close } = await serve();
  return {
    store,
    fetch: (url, method = 'GET', body) => fetch(url, { method, ...(body === undefined ? {} : { body }) }),
    advance: (milliseconds) => {
      clock.offset += milliseconds;
    },
    close,
  };
});

describe('downloads from the local store', () => {
  let served: Served;
  let url: string;
  beforeAll(async () => {
    served = await serve();
    await served.store.put('t/one.txt', Buffer.from('0123456789'), { contentType: 'text/plain' });
    url = await served.store.signedUrl('t/one.txt', { ttlMs: 60_000 });
  });
  afterAll(() => served.close());

  it('come as attachments that nobody sniffs or shares', async () => {
    const response = await fetch(url);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain',
      'content-length': '10',
      'content-disposition': `attachment; filename="one.txt"; filename*=UTF-8''one.txt`,
      'cache-control': 'private',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
    });
  });

  it('answer HEAD with the headers alone', async () => {
    const response = await fetch(url, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '10', '']);
  });

  it.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=4-2', 200, '0123456789', null],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ])('answer the range %s with %i', async (range, status, text, contentRange) => {
    const response = await fetch(url, { headers: { Range: range } });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  it('ignore a range that depends on a tag', async () => {
    const response = await fetch(url, { headers: { Range: 'bytes=0-1', 'If-Range': '"x"' } });
    expect([response.status, await response.text()]).toEqual([200, '0123456789']);
  });

  it('say whether a link has expired or was never one, as problem documents', async () => {
    const short = await served.store.signedUrl('t/one.txt', { ttlMs: 1000 });
    served.clock.offset += 5000;
    const answers = await Promise.all([fetch(short), fetch(url.replace(/signature=./, 'signature='))]);
    expect(answers.map(({ headers }) => headers.get('content-type'))).toEqual(
      Array(2).fill('application/problem+json'),
    );
    const [expired, forged] = (await Promise.all(answers.map((answer) => answer.json()))) as Record<string, unknown>[];
    expect(expired).toMatchObject({
      status: 403,
      error_code: 'not_authorized',
      detail: expect.stringContaining('expired'),
    });
    expect(forged).toMatchObject({
      status: 403,
      error_code: 'not_authorized',
      detail: expect.stringContaining('invalid'),
    });
  });

  it.each([
    '/objects/t/one.txt',
    '/objects/t/one.txt?expires=99999999999&signature=',
    '/objects/t/one.txt?expires=99999999999&expires=1&signature=x',
    '/objects/t/one.txt?expires[a]=1&signature[b]=x',
    '/objects/..%2F..%2Fetc%2Fpasswd?expires=99999999999&signature=x',
    '/objects/t%2Fone.txt?expires=99999999999&signature=x',
    '/objects/none?expires=99999999999&signature=x',
  ])('refuse %s', async (path) => {
    const response = await fetch(new URL(url).origin + path);
    expect([response.status, await response.json()]).toMatchObject([403, { error_code: 'not_authorized' }]);
  });

  it('sign every part: a name or type cannot be added', async () => {
    for (const extra of ['&filename=evil.exe', '&content_type=text/html'])
      expect((await fetch(url + extra)).status).toBe(403);
  });

  it('send no header of somebody else’s making', async () => {
    const odd = await served.store.signedUrl('t/one.txt', {
      ttlMs: 60_000,
      fileName: '../a"b\r\nX-Evil: 1\ud800/c%41;d.txt',
      contentType: 'text/html\r\nX-Evil: 1',
    });
    const response = await fetch(odd);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="c_41;d.txt"; filename*=UTF-8''c%2541%3Bd.txt`,
    );
    expect([response.headers.get('content-type'), response.headers.get('x-evil')]).toEqual([
      'application/octet-stream',
      null,
    ]);
  });
});

describe('files of the local store', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve();
  });
  afterAll(() => served.close());

  it('are for the owner only, directories too', async () => {
    await served.store.put('a/b/c', Buffer.from('x'), { contentType: 'text/plain' });
    const root = join(served.dataDir, 'objects');
    const modes = await Promise.all(
      ['', '/a', '/a/b', '/a/b/c@'].map(async (path) => (await stat(root + path)).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
    expect((await readFile(join(root, 'a/b/c@'))).toString()).toBe('{"content_type":"text/plain"}\nx');
  });

  it('cannot be stored while their directory is a link to what does not exist, which is a fault that passes', async () => {
    const dataDir = join(served.dataDir, 'elsewhere');
    await mkdir(dataDir);
    await symlink(join(served.dataDir, 'not-mounted'), join(dataDir, 'objects'));
    const settings = withSettings(parseSettings({ SECRETS_KEY: 'k'.repeat(40) }), { dataDir });
    const store = new LocalObjectStore(settings, new SignedLinks(settings, served.clock));
    const put = () => store.put('a', Buffer.from('x'), { contentType: 'text/plain' });
    await expect(put()).rejects.toThrow(ObjectStoreUnavailableError);
    await mkdir(join(served.dataDir, 'not-mounted'));
    await expect(put()).resolves.toEqual({ sizeBytes: 1 });
  });

  it('leave nothing behind after a failure; what a killed process left goes after a day', async () => {
    const incoming = join(served.dataDir, 'objects/@incoming');
    await expect(served.store.put('big', Buffer.alloc(10), { contentType: 'text/plain', maxBytes: 9 })).rejects.toThrow(
      'larger than 9 bytes',
    );
    expect(await readdir(incoming)).toEqual([]);
    await writeFile(join(incoming, 'old'), '');
    await writeFile(join(incoming, 'young'), '');
    await utimes(join(incoming, 'old'), 0, 0);
    expect(await served.store.removeAbandoned()).toBe(1);
    expect(await readdir(incoming)).toEqual(['young']);
  });
});
