import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Route, RouteTable } from '#platform/http';
import {
  createDatabaseProxy,
  createTestDatabase,
  type DatabaseProxy,
  startTestApi,
  type TestApi,
  type TestDatabase,
} from '#testing';

/** Errors that every operation with a bearer token shares, each brought about for every route there is. */

const UUID = '01890000-0000-7000-8000-000000000000';
const UID = '0123456789abcdefABCDEF';

let database: TestDatabase;
let proxy: DatabaseProxy;
let api: TestApi;
let routes: readonly Route[];
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await createDatabaseProxy(database.url);
  api = await startTestApi({ database, settings: { databaseUrl: proxy.url } });
  routes = api.app.get(RouteTable).routes.filter(({ access }) => access?.kind === 'permission');
  ({ token } = await api.identities.user({ [await api.identities.team()]: 'owner' }));
});
afterAll(async () => {
  await api.close();
  await proxy.close();
  await database.close();
});

/** A request line with plausible ids. */
const lineOf = ({ method, path }: Route): string =>
  `${method} ${path.replace('/api/v1', '').replace(/:(\w+)/g, (_all, name: string) => (/uid/i.test(name) ? UID : UUID))}`;

/** For a status that is the result, not the expectation. */
async function answerOf(line: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${api.url}/api/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: (await response.json().catch(() => ({}))) as Record<string, unknown> };
}

/** One request per route. A new token each, so that no cached answer stands between the request and the fault. */
async function askAll(
  api_: TestApi,
  status: number,
  tokenFor: () => Promise<string | undefined>,
): Promise<{ line: string; code: string; retryAfter: string | null }[]> {
  const answers = [];
  for (const route of routes) {
    const line = lineOf(route);
    const fresh = await tokenFor();
    const { body, headers } = await api_.request(status, line, fresh === undefined ? {} : { token: fresh });
    answers.push({ line, code: body.error_code as string, retryAfter: headers.get('retry-after') });
  }
  return answers;
}

describe('every operation', () => {
  it('rejects a query parameter that it does not have with a 400 that names it', async () => {
    const operations = routes.filter(({ operation }) => operation !== undefined);
    const ignored: string[] = [];
    for (const route of operations) {
      const line = lineOf(route);
      const { status, body } = await answerOf(`${line}?no_such_parameter=1`);
      const pointers = ((body.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer);
      if (status !== 400 || !pointers.includes('/no_such_parameter')) ignored.push(`${line}: ${status}`);
    }
    expect(operations.length).toBeGreaterThan(50);
    expect(ignored).toEqual([]);
  });

  it('returns 401 without a token', async () => {
    const answers = await askAll(api, 401, () => Promise.resolve(undefined));
    expect(answers.length).toBeGreaterThan(10);
    expect(answers.filter(({ code }) => code !== 'authentication_required')).toEqual([]);
  });

  it('returns 429 with Retry-After beyond the rate, which counts all operations of a token', async () => {
    const limited = await startTestApi({ database, settings: { apiRatePerMinute: 1 } });
    try {
      await limited.request(200, 'GET /agent/environments', { token });
      const answers = await askAll(limited, 429, () => Promise.resolve(token));
      expect(
        answers.filter(
          ({ code, retryAfter }) => code !== 'rate_limited' || !(Number(retryAfter) >= 1 && Number(retryAfter) <= 60),
        ),
      ).toEqual([]);
      const other = await limited.identities.user({ [await limited.identities.team()]: 'owner' });
      const { headers } = await limited.request(200, 'GET /agent/environments', { token: other.token });
      expect(headers.get('x-ratelimit-limit')).toBe('1');
      await limited.atOrigin(200, 'GET /health/live');
      await limited.atOrigin(200, 'GET /health/live');
    } finally {
      await limited.close();
    }
  });

  it('returns 500 for an internal error, which is in the log with its trace id and not in the response', async () => {
    const owner = await api.identities.user();
    const fresh = () => api.identities.token(owner);
    const tokens = await Promise.all(routes.map(fresh));
    await database.query('ALTER TABLE headrace.users RENAME TO users_elsewhere');
    try {
      api.log.clear();
      const answers = await askAll(api, 500, () => Promise.resolve(tokens.shift()));
      expect(answers.filter(({ code }) => code !== 'internal_error')).toEqual([]);
      const { body, text } = await api.request(500, 'GET /agent/environments', { token: await fresh() });
      expect(text).not.toContain('users');
      const [line] = api.log.errors.filter(({ trace_id: traceId }) => traceId === body.trace_id);
      expect(line?.msg).toContain('relation "headrace.users" does not exist');
      expect(line?.stack).toContain('token-queries');
      expect(api.log.errors).toHaveLength(answers.length + 1);
    } finally {
      await database.query('ALTER TABLE headrace.users_elsewhere RENAME TO users');
    }
  });

  it('logs an internal error after the body parser with the trace id', async () => {
    await database.query('ALTER TABLE headrace.environments RENAME TO environments_elsewhere');
    try {
      const { body } = await api.request(500, 'POST /environments', { token, body: { config: { name: 'x' } } });
      const lines = api.log.errors.filter(({ trace_id: traceId }) => traceId === body.trace_id);
      expect(lines).toMatchObject([{ route: 'POST /api/v1/environments', error_code: 'internal_error' }]);
    } finally {
      await database.query('ALTER TABLE headrace.environments_elsewhere RENAME TO environments');
    }
  });

  it('returns 503 with Retry-After while the database is unavailable, and recovers', async () => {
    const owner = await api.identities.user();
    const tokens = await Promise.all(routes.map(() => api.identities.token(owner)));
    await proxy.cut();
    try {
      const answers = await askAll(api, 503, () => Promise.resolve(tokens.shift()));
      expect(answers.filter(({ code, retryAfter }) => code !== 'resource_unavailable' || retryAfter === null)).toEqual(
        [],
      );
      const { body } = await api.atOrigin(503, 'GET /health/ready');
      expect(body).toEqual({ ready: false, draining: false, checks: { database: 'failed', objects: 'ok' } });
      await api.atOrigin(200, 'GET /health/live');
    } finally {
      await proxy.restore();
    }
    await api.request(200, 'GET /agent/environments', { token });
    await api.atOrigin(200, 'GET /health/ready');
  });
});
