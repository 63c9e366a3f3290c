import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { refusal, WorkerSocket } from './worker-socket.js';

let api: TestApi;
let team: string;
let bot: TestPrincipal;
let person: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi({ settings: { workerMaxConnections: 3, workerMaxTeamConnections: 2 } });
  team = await api.identities.team();
  bot = await api.identities.serviceAccount(team);
  person = await api.identities.user({ [team]: 'owner' });
});
afterAll(() => api.close());

describe('a rejected worker', () => {
  it.each(['none', 'garbage', 'expired', 'revoked'])('gets 401 for a token that is %s', async (kind) => {
    const token =
      kind === 'none'
        ? undefined
        : kind === 'garbage'
          ? 'hr_garbage'
          : await api.identities.token(bot, { state: kind as 'expired' | 'revoked' });
    const { status, headers, body } = await refusal(api.url, { token });
    expect(status).toBe(401);
    expect(headers).toMatchObject({ 'www-authenticate': 'Bearer', 'content-type': 'application/problem+json' });
    expect(body).toMatchObject({ error_code: 'authentication_required', instance: '/api/v1/selfhosted/worker/ws' });
    expect(headers['x-trace-id']).toBe(body.trace_id);
  });

  it('gets 401 before its name is validated', async () => {
    expect((await refusal(api.url, { query: '' })).status).toBe(401);
  });

  it('gets 403 for the token of a user', async () => {
    const { status, body } = await refusal(api.url, { token: person.token });
    expect(status).toBe(403);
    expect(body).toMatchObject({ error_code: 'not_authorized', detail: expect.stringContaining('service account') });
  });

  it('gets 403 for the token of an agent identity, which does not take assignments with secrets', async () => {
    const { body: identity } = await api.request(201, 'POST /agent/identities', {
      token: person.token,
      body: { name: 'Reviewer' },
    });
    const token = await api.identities.token({ type: 'service_account', uid: identity.uid as string });
    const { status, body } = await refusal(api.url, { token });
    expect(status).toBe(403);
    expect(body).toMatchObject({ error_code: 'not_authorized', detail: expect.stringContaining('agent identity') });
  });

  it.each(['warp', 'warp-9', 'Warp'])('gets 403 for the name %s', async (name) => {
    const { status, body } = await refusal(api.url, { token: bot.token, query: `?worker_id=${name}` });
    expect(status).toBe(403);
    expect(body.error_code).toBe('not_authorized');
  });

  it.each([
    '',
    '?worker_id=',
    '?worker_id=%20',
    '?worker=x',
    '?worker_id=a&worker_id=b',
    '?worker_id=a%0Ab',
    '?worker_id=a%00',
    '?worker_id=%FF',
    `?worker_id=${'x'.repeat(257)}`,
  ])('gets 400 for the query %s', async (query) => {
    const { status, body } = await refusal(api.url, { token: bot.token, query });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error_code: 'invalid_request', errors: [{ pointer: '/worker_id' }] });
  });

  it.each<Record<string, string>>([
    { 'Sec-WebSocket-Key': 'short' },
    { 'Sec-WebSocket-Version': '7' },
    { 'Sec-WebSocket-Protocol': 'a,,b' },
  ])('gets 400 for the handshake %j', async (headers) => {
    const refused = await refusal(api.url, { token: bot.token, headers });
    expect(refused.status).toBe(400);
    expect(refused.headers['sec-websocket-version']).toBe('13');
    expect(refused.body).toMatchObject({ error_code: 'invalid_request', detail: expect.stringContaining('handshake') });
  });

  it('gets 429 beyond the connections of its team, and 503 beyond those of the process', async () => {
    const other = await api.identities.serviceAccount(await api.identities.team());
    const workers = [
      await WorkerSocket.open(api.url, 'a', bot.token),
      await WorkerSocket.open(api.url, 'a', bot.token),
    ];
    const full = await refusal(api.url, { token: bot.token });
    expect(full.status).toBe(429);
    expect(full.headers['retry-after']).toBe('10');
    workers.push(await WorkerSocket.open(api.url, 'a', other.token));
    expect((await refusal(api.url, { token: other.token })).body).toMatchObject({
      status: 503,
      error_code: 'resource_unavailable',
    });
    for (const worker of workers) await worker.close();
  });
});

describe('other requests with an Upgrade header', () => {
  it('are handled like requests without it', async () => {
    const upgrades = { Upgrade: 'h2c', Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' };
    const path = '/api/v1/agent/connected-self-hosted-workers';
    expect((await refusal(api.url, { path, token: person.token, query: '', headers: upgrades })).status).toBe(200);
    expect((await refusal(api.url, { path, token: person.token, query: '' })).status).toBe(200);
    expect((await refusal(api.url, { path: '/health/live', query: '' })).status).toBe(200);
    expect((await refusal(api.url, { path: '/nothing', query: '' })).body.error_code).toBe('resource_not_found');
    expect((await refusal(api.url, { path: '/api/v1/nothing', token: bot.token })).status).toBe(404);
    expect((await refusal(api.url, { path: '/api/v1/nothing' })).status).toBe(401);
  });

  it('get an explanation of the path for workers', async () => {
    const plain = { Upgrade: '', Connection: 'close' };
    const { status, body } = await refusal(api.url, { token: bot.token, headers: plain });
    expect(status).toBe(400);
    expect(body.detail).toContain('Upgrade');
    expect((await refusal(api.url, { method: 'POST', token: bot.token })).status).toBe(405);
    expect((await refusal(api.url, { headers: plain })).status).toBe(401);
  });
});
