import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';
import { failed, Machine, textOf } from './examination.js';
import { startSilentServer } from './silent-server.js';

let machine: Machine;
let api: TestApi;
let token: string;
let userToken: string;

beforeAll(async () => {
  machine = await Machine.create();
  api = await startTestApi();
  const team = await api.identities.team();
  token = (await api.identities.serviceAccount(team)).token;
  userToken = (await api.identities.user({ [team]: 'owner' })).token;
});
afterAll(async () => {
  await api.close();
  await machine.close();
});

/** The database URL is unreachable because the machine of a worker has no access to the database. */
const look = (options: { origin?: string; token?: string | null; backend?: string } = {}) =>
  machine.examine(
    { DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/nothing' },
    { isWorker: true, origin: api.url, token, ...options },
  );

describe('doctor on the machine of a worker', () => {
  it('checks the API and the worker token without checking the database', async () => {
    const results = await look();
    expect(failed(results)).toEqual([]);
    expect(textOf(results, 'api')).toBe(`ok | ${api.url} is ready`);
    expect(textOf(results, 'worker token')).toBe('ok | accepted by the API');
    expect(textOf(results, 'clock')).toMatch(/^ok \| .* of the API/);
    expect(results.map(({ check }) => check)).not.toEqual(expect.arrayContaining(['database']));
    const { body } = await api.request(200, 'GET /agent/connected-self-hosted-workers', { token });
    expect(body.workers).toEqual([]);
  });

  it.each<[string, () => string | null, RegExp]>([
    ['no token', () => null, /no token \| Set HEADRACE_TOKEN/],
    ['an unknown token', () => `${token}x`, /rejected by the API \(401\) \| .*headrace token create/],
    ['the token of a user', () => userToken, /not the token of a service account \(403\)/],
  ])('reports %s as a failure of the worker token', async (_what, given, pattern) => {
    const results = await look({ token: given() });
    expect(failed(results)).toEqual(['worker token']);
    expect(textOf(results, 'worker token')).toMatch(pattern);
    expect(JSON.stringify(results)).not.toContain(token);
  });

  it('accepts the token of a user on another machine', async () => {
    const results = await machine.examine({}, { origin: api.url, token: userToken });
    expect(textOf(results, 'worker token')).toMatch(/^skip \| valid/);
  });

  it('reports an API that does not answer', async () => {
    const results = await look({ origin: 'http://127.0.0.1:9' });
    expect(failed(results)).toEqual(['api']);
    expect(textOf(results, 'api')).toMatch(/does not answer \(ECONNREFUSED\) \| Start the API/);
    expect(textOf(results, 'worker token')).toMatch(/^skip/);
  });

  it('reports a server that is not the API', async () => {
    const other = await startSilentServer(() => 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello');
    try {
      const results = await look({ origin: `http://127.0.0.1:${other.port}` });
      expect(failed(results)).toEqual(['api', 'worker token']);
      expect(textOf(results, 'api')).toContain('is not Headrace (200)');
    } finally {
      await other.close();
    }
  });

  it('reports an API with a wrong clock', async () => {
    const body = '{"ready": true}';
    const date = new Date(Date.now() + 90_000).toUTCString();
    const other = await startSilentServer((received) =>
      received.includes('/health/ready')
        ? `HTTP/1.1 200 OK\r\ndate: ${date}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
        : 'HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n',
    );
    try {
      const results = await look({ origin: `http://127.0.0.1:${other.port}` });
      expect(failed(results)).toEqual(['clock']);
      expect(textOf(results, 'clock')).toMatch(/this machine is (8|9)\d\.\d s behind the API \| .*NTP/);
    } finally {
      await other.close();
    }
  });
});
