import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
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

@Module({})
class EmptyModule {}

let app: NestExpressApplication;
beforeAll(async () => {
  app = await NestFactory.create<NestExpressApplication>(EmptyModule, { logger: false });
  serveDocument(app, () => ({ openapi: '3.0.0', info: { title: 'API', version: '1' }, paths: {} }), {
    br: encoder,
    gzip: encoder,
  });
  await app.listen(0, '127.0.0.1');
});
afterAll(() => app.close());

function request(path: string, encoding = 'br'): Promise<Buffer> {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const options = { port, host: '127.0.0.1', path, headers: { 'accept-encoding': encoding }, agent: false };
  return new Promise((resolve, reject) => {
    get(options, (response) => void buffer(response).then(resolve, reject)).once('error', reject);
  });
}

it('reads and compresses few files at the same time, and the others afterwards', async () => {
  const held: (() => void)[] = [];
  let reached = (): void => undefined;
  const four = new Promise<void>((resolve) => (reached = resolve));
  begin = () =>
    new Promise((resolve) => {
      if (held.push(resolve) === 4) reached();
    });
  const names = [
    '',
    '/swagger-ui.css',
    '/swagger-ui-bundle.js',
    '/swagger-ui-standalone-preset.js',
    '/swagger-ui-init.js',
  ];
  const bodies = [...names.map((name) => request(`/docs${name}`)), request('/openapi.json')];
  await four;
  // Without compression a file is not in memory as a whole.
  expect((await request('/docs/swagger-ui-bundle.js', 'identity')).length).toBeGreaterThan(1_000_000);
  expect(held).toHaveLength(4);
  begin = () => Promise.resolve();
  for (const release of held) release();
  for (const body of await Promise.all(bodies)) expect(gunzipSync(body).length).toBeGreaterThan(50);
});

it('compresses each file once, however many clients request it later or at the same time', async () => {
  const paths = ['/docs/swagger-ui.css', '/openapi.json'];
  const bodies = await Promise.all([...paths, ...paths, ...paths].map((path) => request(path)));
  expect(new Set(bodies.map((body) => String(gunzipSync(body)))).size).toBe(2);
  expect(compressions).toBe(6);
});
