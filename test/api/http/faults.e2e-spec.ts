import dns from 'node:dns';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import {
  type BuiltWebhook,
  createDatabaseProxy,
  createTestDatabase,
  type DatabaseProxy,
  onDatabase,
  startTestApi,
  startTestIngress,
  type TestApi,
  type TestDatabase,
  type TestIngress,
} from '#testing';
import { bearer, post } from '../../ingress/post.js';

const QUERY_TIMEOUT_MS = 1_000;

let database: TestDatabase;
let proxy: DatabaseProxy;
let api: TestApi;
let ingress: TestIngress;
let hook: BuiltWebhook;
let token: string;
let name: string;

beforeAll(async () => {
  database = await createTestDatabase();
  name = new URL(database.url).pathname.slice(1);
  proxy = await createDatabaseProxy(database.url);
  const url = new URL(proxy.url);
  // A name, so that it has to be resolved for every connection.
  url.hostname = 'localhost';
  const settings = { databaseUrl: url.href, queueUrl: database.url, databaseQueryTimeout: QUERY_TIMEOUT_MS };
  api = await startTestApi({ database, settings });
  ingress = await startTestIngress({ database, settings });
  hook = await ingress.webhooks.webhook();
  ({ token } = await api.identities.user({ [await api.identities.team()]: 'owner' }));
});
afterAll(async () => {
  await api.close();
  await ingress.close();
  await proxy.close();
  await database.close();
});

/** On a connection to the server's own database. */
const onServer = (...statements: string[]): Promise<void> =>
  onDatabase(inject('postgres').url, async (server) => {
    for (const statement of statements) await server.query(statement);
  });

/** Ends every session of the test's database: what follows opens new ones. */
const endSessions = (): string =>
  `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND backend_type = 'client backend' AND application_name <> 'headrace-queue'`;

const create = (status: number, body: object = {}) =>
  api.request(status, 'POST /agent/runs', { token, body: { prompt: 'Look around.', ...body } });
const deliver = () => post(ingress.url + hook.path, { headers: bearer(hook.secret), body: '{}' });

async function expectUnavailable({ readsToo = true } = {}): Promise<void> {
  const list = (status: number) => api.request(status, 'GET /agent/runs', { token });
  // A session that is just being ended may still be used once.
  const read = readsToo ? await list(503) : await vi.waitFor(() => list(200));
  const created = await create(503);
  for (const { body, headers } of readsToo ? [read, created] : [created]) {
    expect(body.error_code).toBe('resource_unavailable');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  await vi.waitFor(async () => {
    const delivered = await deliver();
    expect([delivered.status, delivered.json?.error_code]).toEqual([503, 'resource_unavailable']);
    expect(delivered.headers['retry-after']).toBe('1');
  });
}

async function expectReady(isReady: boolean): Promise<void> {
  for (const origin of [api.url, ingress.url])
    // A check that has passed counts for a second.
    await vi.waitFor(
      async () => {
        const response = await fetch(`${origin}/health/ready`);
        expect([response.status, ((await response.json()) as { ready: boolean }).ready]).toEqual([
          isReady ? 200 : 503,
          isReady,
        ]);
      },
      { timeout: 5_000, interval: 50 },
    );
}

async function expectAvailable(): Promise<void> {
  await expectReady(true);
  await api.request(200, 'GET /agent/runs', { token });
  await create(200);
  expect((await deliver()).status).toBe(202);
}

describe('while the database', () => {
  beforeEach(() => expectAvailable());

  it('accepts no connections, API and ingress return 503', async () => {
    await onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, endSessions());
    try {
      await expectUnavailable();
      await expectReady(false);
    } finally {
      await onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    }
    await expectAvailable();
  });

  it('is read-only, writes return 503, and its read-only sessions are closed', async () => {
    await onServer(`ALTER DATABASE ${name} SET default_transaction_read_only = on`, endSessions());
    try {
      await expectUnavailable({ readsToo: false });
      await expectReady(false);
    } finally {
      await onServer(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    }
    await expectAvailable();
  });

  it.each(['EAI_AGAIN', 'ENOTFOUND'])(
    'has a name that does not resolve (%s), API and ingress return 503',
    async (code) => {
      const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
        host: string,
        _options: object,
        callback: unknown,
      ) => {
        const error = Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code, syscall: 'getaddrinfo' });
        process.nextTick(callback as (error: Error) => void, error);
      }) as unknown as typeof dns.lookup);
      try {
        // The pools may just be opening connections whose name was resolved before: those end, too.
        await proxy.cut();
        await vi.waitFor(async () => {
          expect((await deliver()).status).toBe(503);
          await api.request(503, 'GET /agent/runs', { token });
        });
        await expectUnavailable();
        await expectReady(false);
        expect(lookup).toHaveBeenCalled();
      } finally {
        lookup.mockRestore();
        await proxy.restore();
      }
      await expectAvailable();
    },
  );

  it('stops responding, a current request ends with 503 after DATABASE_QUERY_TIMEOUT', async () => {
    proxy.answerOnlyAfter('nobody sends this');
    try {
      // Both have a connection already, which swallows their statement.
      const [read, delivered] = await Promise.all([api.request(503, 'GET /agent/runs', { token }), deliver()]);
      expect(read.body.error_code).toBe('resource_unavailable');
      expect(delivered.status).toBe(503);
      await expectReady(false);
    } finally {
      await proxy.cut();
      proxy.answerAtOnce();
      await proxy.restore();
    }
    await expectAvailable();
  });
});

describe.skipIf(process.getuid?.() !== 0)('while the directory of objects', () => {
  const NOTES = {
    file_name: 'notes.txt',
    mime_type: 'text/plain',
    data: Buffer.alloc(200_000, 'n').toString('base64'),
  };
  let directory: string;

  beforeAll(() => {
    directory = join(api.settings.dataDir, 'objects');
    mkdirSync(directory, { recursive: true });
  });
  afterEach(() => {
    execFileSync('umount', [directory]);
  });

  it.each([
    ['is full', 'size=128k', 'cat /dev/zero > full || true'],
    ['is read-only', 'ro', 'true'],
  ])('%s, a run with a file gets 503, others are created, and the API is not ready', async (_what, options, fill) => {
    await create(200, { attachments: [NOTES] });
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]);
    execFileSync('sh', ['-c', fill], { cwd: directory, stdio: 'ignore' });
    const { body, headers } = await create(503, { attachments: [NOTES] });
    expect([body.error_code, headers.get('retry-after')]).toEqual(['resource_unavailable', '5']);
    await create(200);
    await vi.waitFor(
      async () => {
        const { body: report } = await api.atOrigin(503, 'GET /health/ready');
        expect(report.checks).toEqual({ database: 'ok', objects: 'failed' });
      },
      { timeout: 5_000, interval: 50 },
    );
  });
});
