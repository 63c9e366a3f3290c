import { createServer, type RequestListener, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { DockerEngine } from './docker-engine.js';
import { EngineConnection } from './engine-connection.js';
import { EngineError, EngineUnreachable } from './engine-connection.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-engine-'));
const path = join(directory, 'engine.sock');
const connection = new EngineConnection({ dockerHost: { kind: 'socket', path }, dockerCertPath: '' });
let server: Server | null = null;

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const serve = (listener: RequestListener): Promise<void> =>
  new Promise((resolve) => {
    server = createServer(listener).listen(path, resolve);
  });

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  server = null;
  rmSync(path, { force: true });
});

const engineWith = (version: object): RequestListener => {
  return ({ url }, response) =>
    response.end(JSON.stringify(url === '/version' ? version : { NCPU: 3, OSType: 'linux', at: url }));
};

describe('negotiating an API version', () => {
  it.each([
    [{ ApiVersion: '1.51', MinAPIVersion: '1.44', Version: '28' }, '/v1.47'],
    [{ ApiVersion: '1.43', MinAPIVersion: '1.12', Version: '24' }, '/v1.43'],
    [{ ApiVersion: '1.41', Version: 'podman 5' }, '/v1.41'],
  ])('with an engine that has %j', async (version, prefix) => {
    const requested: string[] = [];
    await serve((request, response) => {
      requested.push(request.url ?? '');
      engineWith(version)(request, response);
    });
    expect(await new DockerEngine(connection).connect()).toEqual({
      version: version.Version,
      processors: 3,
      os: 'linux',
    });
    expect(requested).toEqual(['/version', `${prefix}/info`]);
  });

  it.each([
    [{ ApiVersion: '1.40' }, 'The engine is too old: its API version is 1.40; at least 1.41 is required.'],
    [
      { ApiVersion: '1.90', MinAPIVersion: '1.60' },
      'The engine is too new: its API versions begin at 1.60; at most 1.47 is supported.',
    ],
    [{ hello: 'world' }, 'The server at DOCKER_HOST is not a Docker Engine.'],
  ])('not with one that has %j', async (version, message) => {
    await serve(engineWith(version));
    await expect(new DockerEngine(connection).connect()).rejects.toThrow(message);
  });

  it('rejects a server that is not an engine', async () => {
    await serve((_request, response) => response.end('<html>'));
    await expect(new DockerEngine(connection).connect()).rejects.toThrow('is not a Docker Engine');
  });
});

describe('an engine with a faulty response', () => {
  const call = { method: 'GET', path: '/x', timeoutMs: 200 } as const;

  it('is unreachable when the port is closed', async () => {
    await expect(connection.call(call)).rejects.toThrow(EngineUnreachable);
    await expect(connection.call(call)).rejects.toThrow('ENOENT');
  });

  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['stops in the middle of its answer', (_request, response) => response.writeHead(200).write('{"a":')],
  ])('is unreachable when it %s', async (_what, listener) => {
    await serve(listener);
    await expect(connection.call(call)).rejects.toThrow('no response within 200 ms');
  });

  it('is unreachable when the connection breaks during a response', async () => {
    await serve((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('x', () => response.destroy());
    });
    await expect(connection.call(call)).rejects.toThrow(EngineUnreachable);
  });

  it('rejects a response that is too long', async () => {
    await serve((_request, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(1_048_576), () => setImmediate(more));
      };
      more();
    });
    await expect(connection.call({ ...call, timeoutMs: 10_000 })).rejects.toThrow('more than 16777216 bytes');
  });

  it.each([
    ['{"message":"no such thing"}', 'no such thing'],
    ['plain words\n', 'plain words'],
    ['{"message":7}', '{"message":7}'],
    [`{"message":"${'x'.repeat(3000)}"}`, `${'x'.repeat(1000)}…`],
  ])('is quoted when it refuses', async (body, message) => {
    await serve((_request, response) => response.writeHead(409).end(body));
    const refusal = await connection.call(call).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(EngineError);
    expect(refusal).toMatchObject({ status: 409, message });
  });

  it('rejects when the engine does not upgrade the connection', async () => {
    await serve((_request, response) => response.end('no'));
    await expect(connection.hijack({ ...call, method: 'POST' })).rejects.toThrow('did not upgrade the connection');
  });

  it('aborts a pull', async () => {
    await serve((request, response) => {
      if (!request.url?.includes('/images/create')) return engineWith({ ApiVersion: '1.47' })(request, response);
      response.writeHead(200).write('{"status":"Downloading"}\r\n', () => response.destroy());
      return undefined;
    });
    const engine = new DockerEngine(connection);
    await engine.connect();
    await expect(engine.pullImage('a', 'latest', null, AbortSignal.timeout(5000))).rejects.toThrow(EngineUnreachable);
  });
});
