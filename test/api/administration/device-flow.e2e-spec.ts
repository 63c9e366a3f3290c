import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteExchange, startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { OVERSIZED_BODY } from '../../support/api-requests.js';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const PROGRAM = { client_id: 'test-program', client_name: 'Test program on laptop' };

let api: TestApi;
let user: TestPrincipal;
let other: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  [user, other] = await Promise.all([api.identities.user({}, 'Ada'), api.identities.user({}, 'Ben')]);
});
afterAll(() => api.close());

/** As a program sends it: a form, without a token. */
async function post(path: string, form: Record<string, string> | string, type = 'application/x-www-form-urlencoded') {
  const body = typeof form === 'string' ? form : new URLSearchParams(form).toString();
  const response = await fetch(`${api.url}/api/v1/oauth/${path}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  });
  noteExchange('POST', `/oauth/${path}`, response.status);
  const answer = (await response.json()) as Record<string, string>;
  return { status: response.status, headers: response.headers, body: answer };
}

async function begin(form: Record<string, string> = PROGRAM): Promise<{ device_code: string; user_code: string }> {
  const { status, body } = await post('device_authorization', form);
  expect(status, JSON.stringify(body)).toBe(200);
  return { device_code: body.device_code ?? '', user_code: body.user_code ?? '' };
}

const poll = (deviceCode: string, clientId = PROGRAM.client_id) =>
  post('token', { grant_type: GRANT_TYPE, device_code: deviceCode, client_id: clientId });

const decide = (status: number, userCode: string, body: object, { token }: TestPrincipal = user) =>
  api.request(status, `POST /device-authorizations/${userCode}/decision`, { token, body });

const expectError = async (answer: ReturnType<typeof post>, error: string, status = 400): Promise<void> =>
  expect(await answer).toMatchObject({ status, body: { error, error_description: expect.any(String) } });

describe('the device flow', () => {
  it('gives a token of the user to a client that conforms to RFC 8628', async () => {
    const endpoints = { device_authorization_endpoint: 'device_authorization', token_endpoint: 'token' };
    const server = Object.fromEntries(
      Object.entries(endpoints).map(([name, path]) => [name, `${api.url}/api/v1/oauth/${path}`]),
    );
    const client = new openid.Configuration({ issuer: api.url, ...server }, PROGRAM.client_id, {}, openid.None());
    openid.allowInsecureRequests(client);
    const started = await openid.initiateDeviceAuthorization(client, { client_name: PROGRAM.client_name });
    expect(started).toMatchObject({
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/),
      verification_uri: `${api.url}/console/device`,
      verification_uri_complete: `${api.url}/console/device?user_code=${started.user_code}`,
      expires_in: 600,
      interval: 2,
    });
    const typed = started.user_code.toLowerCase().replace('-', ' ');
    const shown = await api.request(200, `GET /device-authorizations/${encodeURIComponent(typed)}`, {
      token: user.token,
    });
    expect(shown.body).toMatchObject({ client_name: PROGRAM.client_name, address: '127.0.0.1' });
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await decide(200, started.user_code, { decision: 'approve', token_expires_at: expiresAt });
    const token = await openid.pollDeviceAuthorizationGrant(client, started);
    expect(token.token_type).toBe('bearer');
    expect(token.expires_in).toBeGreaterThan(86_000);
    expect((await api.request(200, 'GET /me', { token: token.access_token })).body.uid).toBe(user.uid);
    // The token is one of the user's like any other.
    const { body } = await api.request(200, 'GET /tokens', { token: user.token });
    const listed = body.tokens.find(({ name }: { name: string }) => name === PROGRAM.client_name);
    expect(listed.expires_at).toBe(expiresAt);
    await api.request(204, `DELETE /tokens/${listed.uid}`, { token: user.token });
    await api.request(401, 'GET /me', { token: token.access_token });
    const site = await api.identities.administrator();
    const log = await api.request(200, 'GET /audit-log?scope=installation&limit=10', { token: site.token });
    expect(log.body.entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          action: 'device_authorization.decided',
          actor: expect.objectContaining({ uid: user.uid }),
        }),
        expect.objectContaining({ action: 'token.created', details: { method: 'device', expires_at: expiresAt } }),
      ]),
    );
  });

  it('gives the token once, also to requests that arrive at the same time, and only to the program that asked', async () => {
    const { device_code: deviceCode, user_code: userCode } = await begin();
    await decide(200, userCode, { decision: 'approve' });
    await expectError(poll(deviceCode, 'another-program'), 'invalid_grant');
    const answers = await Promise.all(Array.from({ length: 8 }, () => poll(deviceCode)));
    const tokens = answers.filter(({ status }) => status === 200);
    expect(tokens).toHaveLength(1);
    expect(tokens[0]?.body).toEqual({ access_token: expect.stringMatching(/^hr_/), token_type: 'Bearer' });
    expect(tokens[0]?.headers.get('cache-control')).toBe('no-store');
    await expectError(poll(deviceCode), 'invalid_grant');
  });

  it('is decided once', async () => {
    const { device_code: deviceCode, user_code: userCode } = await begin();
    const bodies = [{ decision: 'deny' }, { decision: 'approve' }];
    await decide(200, userCode, bodies[0] ?? {});
    await decide(404, userCode, bodies[1] ?? {}, other);
    await api.request(404, `GET /device-authorizations/${userCode}`, { token: other.token });
    await expectError(poll(deviceCode), 'access_denied');
  });

  it('slows down programs that ask faster than the interval', async () => {
    const { device_code: deviceCode, user_code: userCode } = await begin();
    await expectError(poll(deviceCode), 'authorization_pending');
    await expectError(poll(deviceCode), 'slow_down');
    // The interval has become longer.
    await api.advanceClock(3_000);
    await expectError(poll(deviceCode), 'slow_down');
    await api.advanceClock(12_000);
    await expectError(poll(deviceCode), 'authorization_pending');
    await decide(200, userCode, { decision: 'approve' });
    expect((await poll(deviceCode)).status).toBe(200);
  });

  it('ends after ten minutes', async () => {
    const waiting = await begin();
    const approved = await begin();
    await decide(200, approved.user_code, { decision: 'approve' });
    await api.advanceClock(10 * 60_000 + 1000);
    await decide(404, waiting.user_code, { decision: 'approve' });
    for (const { device_code: deviceCode } of [waiting, approved]) await expectError(poll(deviceCode), 'expired_token');
  });

  it('gives no token of a user who was disabled after the approval', async () => {
    const leaving = await api.identities.user();
    const { device_code: deviceCode, user_code: userCode } = await begin();
    await decide(200, userCode, { decision: 'approve' }, leaving);
    const site = await api.identities.administrator();
    await api.request(200, `PUT /users/${leaving.uid}`, { token: site.token, body: { is_disabled: true } });
    await expectError(poll(deviceCode), 'access_denied');
  });

  it('stores no code that could be used', async () => {
    const { device_code: deviceCode, user_code: userCode } = await begin();
    const rows = await api.database.query('SELECT to_jsonb(d)::text AS text FROM headrace.device_authorizations d');
    const stored = JSON.stringify(rows);
    for (const secret of [deviceCode, userCode, userCode.replace('-', '')]) expect(stored).not.toContain(secret);
  });

  it('rejects other requests with the errors of OAuth', async () => {
    await expectError(post('token', { grant_type: 'password', username: 'x' }), 'unsupported_grant_type');
    await expectError(post('token', { grant_type: GRANT_TYPE, device_code: 'x' }), 'invalid_request');
    await expectError(poll('x'.repeat(43)), 'invalid_grant');
    await expectError(post('device_authorization', {}), 'invalid_request');
    await expectError(post('device_authorization', 'client_id=a&client_id=b'), 'invalid_request');
    await expectError(post('device_authorization', { client_id: 'x'.repeat(101) }), 'invalid_request');
    await expectError(post('device_authorization', { ...PROGRAM, client_name: 'a\u202eb' }), 'invalid_request');
    await expectError(post('device_authorization', `client_id=${'x'.repeat(9000)}`), 'invalid_request');
    await expectError(post('device_authorization', '{"client_id":"x"}', 'application/json'), 'invalid_request');
  });

  it('needs a user for the decision, and the header of the console with a cookie', async () => {
    const { user_code: userCode } = await begin();
    const bot = await api.identities.serviceAccount(await api.identities.team());
    await api.request(403, `GET /device-authorizations/${userCode}`, { token: bot.token });
    await decide(403, userCode, { decision: 'approve' }, bot);
    await decide(400, userCode, { decision: 'perhaps' });
    await decide(400, userCode, { decision: 'approve', token_expires_at: '2020-01-01T00:00:00Z' });
    const line = `POST /device-authorizations/${userCode}/decision`;
    await api.request(415, line, { token: user.token, body: 'approve', contentType: 'text/plain' });
    await api.request(413, line, { token: user.token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(400, `GET /device-authorizations/${'x'.repeat(21)}`, { token: user.token });
    const headers = { 'x-headrace-console': '1', 'content-type': 'application/json' };
    const session = await fetch(`${api.url}/api/v1/sessions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ token: user.token }),
    });
    const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const forged = await fetch(`${api.url}/api/v1/device-authorizations/${userCode}/decision`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'approve' }),
    });
    expect(forged.status).toBe(403);
    await api.request(200, `GET /device-authorizations/${userCode}`, { token: user.token });
  });
});

describe('guesses of user codes', () => {
  it('are limited per user, also when they are sent at the same time', async () => {
    const guesser = await api.identities.user();
    const line = 'GET /device-authorizations/BBBB-CCCC';
    const send = async () =>
      (await fetch(`${api.url}/api/v1${line.slice(4)}`, { headers: { authorization: `Bearer ${guesser.token}` } }))
        .status;
    const statuses = await Promise.all(Array.from({ length: 30 }, send));
    expect(statuses.filter((status) => status === 404)).toHaveLength(10);
    const { headers } = await api.request(429, line, { token: guesser.token });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    // Also for a code that exists, so that the answer says nothing.
    const { user_code: userCode } = await begin();
    await decide(429, userCode, { decision: 'approve' }, guesser);
    await decide(200, userCode, { decision: 'approve' });
    await api.advanceClock(10 * 60_000 + 1000);
    await api.request(404, line, { token: guesser.token });
  });

  it('are limited per address, for all users together', async () => {
    await api.advanceClock(10 * 60_000 + 1000);
    const guessers = await Promise.all(Array.from({ length: 6 }, () => api.identities.user()));
    const statuses: number[] = [];
    for (const { token } of guessers)
      for (let guess = 0; guess < 10; guess += 1) {
        const headers = { authorization: `Bearer ${token}` };
        statuses.push((await fetch(`${api.url}/api/v1/device-authorizations/NOTACODE`, { headers })).status);
      }
    expect(statuses.filter((status) => status === 404)).toHaveLength(50);
    expect(statuses.slice(50)).toEqual(Array.from({ length: 10 }, () => 429));
  });

  it('have no effect on programs, of which one address can start a limited number', async () => {
    await api.advanceClock(10 * 60_000 + 1000);
    const form = { client_id: 'flood' };
    const answers = await Promise.all(Array.from({ length: 110 }, () => post('device_authorization', form)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.error).toBe('slow_down');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
