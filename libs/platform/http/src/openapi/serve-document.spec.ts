import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveDocument } from './serve-document.js';

const compress = promisify(gzip);
let compressions = 0;
let begin = (): Promise<void> => Promise.resolve();
async function encoder(body: Buffer): Promise<Buffer> {
  compressions += 1;
  await begin();
  return compress(body);
}

let builds = 0;
function build(): OpenAPIObject {
  builds += 1;
  return { openapi: '3.0.0', info: { title: 'API', version: '1' }, paths: {} };
}

@Module({})
class EmptyModule {}

let app: NestExpressApplication;
beforeAll(async () => {
  app = await NestFactory.create<NestExpressApplication>(EmptyModule, { logger: false });
  serveDocument(app, build, { br: encoder, gzip: encoder });
  await app.listen(0, '127.0.0.1');
});
afterAll(() => app.close());

function respond(
  path: string,
  encoding = 'br',
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const options = {
    ...{ port, host: '127.0.0.1', path, agent: false, headers: { 'accept-encoding': encoding, ...headers } },
    ...(signal && { signal }),
  };
  return new Promise((resolve, reject) => void get(options, resolve).once('error', reject));
}

const request = async (path: string, encoding = 'br'): Promise<Buffer> => buffer(await respond(path, encoding));

it('compresses each file once, however many clients request it later or at the same time', async () => {
  const paths = ['/docs/swagger-ui.css', '/openapi.json'];
  const requests = [...paths, ...paths, ...paths];
  const bodies = [
    ...(await Promise.all(requests.map((path) => request(path)))),
    ...(await Promise.all(requests.map((path) => request(path)))),
  ];
  expect(new Set(bodies.map((body) => String(gunzipSync(body)))).size).toBe(2);
  expect(compressions).toBe(2);
  expect((await request('/docs/swagger-ui-bundle.js', 'identity')).length).toBeGreaterThan(1_000_000);
});

it('keeps no copy of a page or of another spelling of a path', async () => {
  const before = compressions;
  const pages = await Promise.all(['/docs', '/docs/', '/docs?/', '/docs/', '/docs'].map((path) => request(path)));
  expect(pages.map((page) => /href="([^"]*)swagger-ui\.css"/.exec(String(page))?.[1])).toEqual([
    './docs/',
    './',
    './',
    './',
    './docs/',
  ]);
  for (const path of ['/docs/%73wagger-ui.css', '/docs//swagger-ui.css', '/docs/./swagger-ui.css', '/openapi.json/'])
    expect((await respond(path)).headers['content-encoding']).toBeUndefined();
  expect(compressions).toBe(before);
});

it('creates the text of the document once', async () => {
  const bodies = await Promise.all(
    ['identity', 'br', 'identity'].map((encoding) => request('/openapi.json', encoding)),
  );
  expect(bodies.map((body, index) => JSON.parse(String(index === 1 ? gunzipSync(body) : body)) as object)).toEqual(
    Array.from({ length: 3 }, () => expect.objectContaining({ openapi: '3.0.0' }) as object),
  );
  expect(builds).toBe(1);
});

it('sends the same bytes to clients that accept no compression', async () => {
  const path = '/docs/swagger-ui-init.js';
  const [first, second] = [await respond(path, 'identity'), await respond(path, 'identity')];
  for (const name of ['content-type', 'content-encoding', 'content-length', 'etag', 'vary'])
    expect([name, second.headers[name]]).toEqual([name, first.headers[name]]);
  expect(first.headers['content-encoding']).toBeUndefined();
  expect(await buffer(second)).toEqual(await buffer(first));
  expect(String(gunzipSync(await request(path)))).toEqual(String(await request(path, 'identity')));
});

it('sends the headers of a file with each response, and 304 to a client that has it', async () => {
  const first = await respond('/docs/swagger-ui-bundle.js');
  const second = await respond('/docs/swagger-ui-bundle.js');
  for (const name of ['content-type', 'content-encoding', 'content-length', 'etag', 'last-modified', 'vary'])
    expect([name, second.headers[name]]).toEqual([name, first.headers[name]]);
  const third = await respond('/docs/swagger-ui-bundle.js', 'br', { 'if-none-match': first.headers.etag ?? '' });
  expect([third.statusCode, (await buffer(third)).length]).toEqual([304, 0]);
  await Promise.all([first, second].map((response) => buffer(response)));
});

it('serves other clients when one has left, and while others read nothing', async () => {
  const left = new AbortController();
  let reached = (): void => undefined;
  const compressing = new Promise<void>((resolve) => (reached = resolve));
  let release = (): void => undefined;
  begin = () =>
    new Promise((resolve) => {
      release = resolve;
      reached();
    });
  const path = '/docs/swagger-ui-standalone-preset.js';
  const first = respond(path, 'gzip', {}, left.signal).catch((error: unknown) => error);
  await compressing;
  const waiting = request(path, 'gzip');
  left.abort();
  await first;
  release();
  expect(gunzipSync(await waiting).length).toBeGreaterThan(100_000);
  const unread = await Promise.all(Array.from({ length: 8 }, () => respond('/docs/missing')));
  expect(unread.map(({ statusCode }) => statusCode)).toEqual(Array.from({ length: 8 }, () => 404));
});
