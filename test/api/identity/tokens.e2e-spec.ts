import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN_CACHE_MS, TokensService, TokenUsage } from '#platform/auth';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';

const OPERATION = 'GET /agent/environments';
const HOUR_MS = 3_600_000;

let api: TestApi;
let team: string;
let user: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  user = await api.identities.user({ [team]: 'member' });
});
afterAll(() => api.close());

/** Everything of a 401 that could tell one reason from another. */
async function refusal(headers: Record<string, string>): Promise<unknown> {
  const answer = await api.request(401, OPERATION, { headers });
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  return { ...answer.body, trace_id: null };
}

describe('a token', () => {
  it('of a user or a service account is accepted', async () => {
    await api.request(200, OPERATION, { token: user.token });
    const bot = await api.identities.serviceAccount(team);
    await api.request(200, OPERATION, { token: bot.token });
    await api.request(200, OPERATION, { headers: { authorization: `bearer   ${user.token}` } });
  });

  it('that is malformed, unknown, expired or revoked gets the same 401', async () => {
    const expired = await api.identities.token(user, { state: 'expired' });
    const revoked = await api.identities.token(user, { state: 'revoked' });
    const malformed = await refusal({ authorization: 'Bearer hr_short' });
    expect(malformed).toMatchObject({ detail: expect.stringContaining('The token is not valid') });
    const headers = {
      'two tokens': `Bearer ${user.token} ${user.token}`,
      unknown: `Bearer hr_${'0'.repeat(43)}`,
      'one character off': `Bearer ${user.token.slice(0, -1)}${user.token.endsWith('A') ? 'B' : 'A'}`,
      expired: `Bearer ${expired}`,
      revoked: `Bearer ${revoked}`,
    };
    for (const [name, authorization] of Object.entries(headers))
      expect([name, await refusal({ authorization })]).toEqual([name, malformed]);
  });

  it('that is missing, or sent without `Bearer`, gets a 401 with the reason', async () => {
    const missing = { error_code: 'authentication_required', detail: expect.stringContaining('has no token') };
    expect(await refusal({})).toMatchObject(missing);
    expect(await refusal({ authorization: '' })).toMatchObject(missing);
    for (const authorization of [user.token, `Basic ${user.token}`])
      expect(await refusal({ authorization })).toMatchObject({
        error_code: 'authentication_required',
        detail: expect.stringContaining('no `Bearer` before the token'),
      });
  });

  it('is rejected with the reason in the log only', async () => {
    const expired = await api.identities.token(user, { state: 'expired' });
    api.log.clear();
    await refusal({ authorization: `Bearer ${expired}` });
    expect(api.log.lines.find(({ msg }) => msg === 'request')).toMatchObject({
      status: 401,
      rejection: 'token expired',
    });
    expect(api.log.text).not.toContain(expired);
  });

  it('expires on time, also when it was just used', async () => {
    const token = await api.identities.token(user, { expiresAt: new Date(Date.now() + HOUR_MS) });
    await api.request(200, OPERATION, { token });
    await api.advanceClock(2 * HOUR_MS);
    await api.request(401, OPERATION, { token });
  });

  it('is rejected within one second after it is revoked', async () => {
    const created = await api.app.get(TokensService).create({ owner: user, name: 'short-lived' });
    if (created.kind !== 'created') throw new Error(created.kind);
    const { token, record } = created;
    await api.request(200, OPERATION, { token });
    await expect(api.app.get(TokensService).revoke({ tokenUid: record.uid })).resolves.toEqual({ kind: 'revoked' });
    const deadline = performance.now() + TOKEN_CACHE_MS + 1000;
    let status = 200;
    while (status === 200 && performance.now() < deadline) {
      ({ status } = await fetch(`${api.url}/api/v1/agent/environments`, {
        headers: { authorization: `Bearer ${token}` },
      }));
    }
    expect(status).toBe(401);
    await expect(api.app.get(TokensService).revoke({ tokenUid: record.uid })).resolves.toEqual({
      kind: 'already_revoked',
    });
  });

  it('is stored as a digest with its prefix and the time of its last use', async () => {
    const created = await api.app.get(TokensService).create({ owner: user, name: 'laptop' });
    if (created.kind !== 'created') throw new Error(created.kind);
    const { token, record } = created;
    expect(token).toMatch(/^hr_[0-9A-Za-z]{43}$/);
    expect(record).toMatchObject({
      name: 'laptop',
      owner: { type: 'user', uid: user.uid },
      prefix: `${token.slice(0, 7)}…`,
      lastUsedAt: null,
    });
    const dump = await api.database.query<{ line: string }>('SELECT t::text AS line FROM headrace.tokens t');
    expect(dump.map(({ line }) => line).join()).not.toContain(token.slice(7));
    await api.request(200, OPERATION, { token });
    await api.app.get(TokenUsage).onModuleDestroy();
    const listed = await api.app.get(TokensService).page(user, null, 10);
    expect(listed.find(({ uid }) => uid === record.uid)?.lastUsedAt).toBeInstanceOf(Date);
  });

  it('cannot be created for an unknown principal or with an expiry in the past', async () => {
    const tokens = api.app.get(TokensService);
    await expect(tokens.create({ owner: { type: 'user', uid: 'x'.repeat(22) }, name: 'x' })).resolves.toEqual({
      kind: 'unknown_owner',
    });
    await expect(tokens.create({ owner: user, name: 'x', expiresAt: new Date(0) })).resolves.toEqual({
      kind: 'already_expired',
    });
    await expect(api.app.get(TokensService).revoke({ tokenUid: 'x'.repeat(22) })).resolves.toEqual({ kind: 'unknown' });
  });
});

describe('without a valid token', () => {
  it('no byte of the body is read', async () => {
    // The body never comes: a server that waited for it would not answer.
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(`${api.url}/api/v1/environments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': '1000' },
      });
      request.once('response', (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.once('error', reject);
      request.flushHeaders();
    });
    expect(status).toBe(401);
  });
});
