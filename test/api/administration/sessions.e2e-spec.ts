import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteExchange, startTestApi, type TestApi, type TestPrincipal, until } from '#testing';
import { requestAnyStatus } from '../../support/api-requests.js';

let api: TestApi;
let user: TestPrincipal;
let site: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  user = await api.identities.user({ [await api.identities.team()]: 'member' }, 'Ada');
  site = await api.identities.administrator();
});
afterAll(() => api.close());

const CONSOLE = { 'x-headrace-console': '1' } as const;

interface Sent {
  readonly cookie?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** As a browser sends it, without a token. */
async function send(status: number, line: string, { cookie, headers = {}, body }: Sent = {}) {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${api.url}/api/v1${path}`, {
    method,
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  noteExchange(method, path, response.status);
  expect(response.status, text).toBe(status);
  return { headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

const nameOf = (): string => `headrace_session_${new URL(api.url).port}`;
async function codeFor(principal: TestPrincipal, body: object = {}): Promise<string> {
  const { body: link } = await api.request(201, 'POST /login-links', { token: principal.token, body });
  const url = new URL(link.url);
  expect(`${url.origin}${url.pathname}`).toBe(`${api.url}/console/sign-in`);
  return url.hash.replace('#code=', '');
}
async function signIn(principal = user): Promise<string> {
  const body = { login_code: await codeFor(principal) };
  const { headers } = await send(201, 'POST /sessions', {
    headers: { ...CONSOLE, 'user-agent': 'test-browser' },
    body,
  });
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

describe('a session of a browser', () => {
  it('is created once by a link, in a cookie that scripts and other sites cannot use', async () => {
    const code = await codeFor(user);
    const first = await send(201, 'POST /sessions', {
      headers: { ...CONSOLE, 'user-agent': 'test-browser' },
      body: { login_code: code },
    });
    const cookie = first.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(new RegExp(`^${nameOf()}=hs_\\w{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`));
    expect(JSON.stringify(first.body)).not.toContain('hs_');
    expect(first.body).toMatchObject({
      method: 'login_link',
      is_current: true,
      address: '127.0.0.1',
      user_agent: 'test-browser',
    });
    await send(401, 'POST /sessions', { headers: CONSOLE, body: { login_code: code } });
    const [pair = ''] = cookie.split(';');
    expect((await send(200, 'GET /me', { cookie: `other=1; ${pair}; third=x` })).body).toMatchObject({ uid: user.uid });
    expect((await send(200, 'GET /agent/runs', { cookie: pair })).body).toMatchObject({ runs: [] });
  });

  it('needs a small body', async () => {
    await send(413, 'POST /sessions', { body: { token: 'x'.repeat(10_000) }, headers: CONSOLE });
  });

  it('is also created by a token of a user', async () => {
    const { headers } = await send(201, 'POST /sessions', { headers: CONSOLE, body: { token: user.token } });
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).not.toContain(user.token);
    await send(200, 'GET /me', { cookie: cookie.split(';')[0] ?? '' });
    const bot = await api.identities.serviceAccount(await api.identities.team());
    expect((await send(400, 'POST /sessions', { headers: CONSOLE, body: { token: bot.token } })).body).toMatchObject({
      errors: [{ pointer: '/token' }],
    });
    for (const token of ['nonsense', `hr_${'a'.repeat(43)}`])
      await send(401, 'POST /sessions', { headers: CONSOLE, body: { token } });
    for (const body of [{}, { token: user.token, login_code: 'x' }])
      expect((await send(400, 'POST /sessions', { headers: CONSOLE, body })).body).toMatchObject({
        errors: [{ pointer: '/login_code' }],
      });
  });

  it('changes nothing without the header of the console, or from another site', async () => {
    const cookie = await signIn();
    const post = { body: { prompt: 'Go.' } };
    expect((await send(403, 'POST /agent/runs', { cookie, ...post })).body.detail).toContain('X-Headrace-Console');
    for (const site of ['cross-site', 'same-site', 'none'])
      await send(403, 'POST /agent/runs', { cookie, headers: { ...CONSOLE, 'sec-fetch-site': site }, ...post });
    await send(200, 'POST /agent/runs', { cookie, headers: { ...CONSOLE, 'sec-fetch-site': 'same-origin' }, ...post });
    await send(403, 'POST /sessions', { body: { token: user.token } });
    await send(403, 'POST /sessions', {
      headers: { ...CONSOLE, 'sec-fetch-site': 'cross-site' },
      body: { token: user.token },
    });
    await send(403, 'DELETE /sessions/current', { cookie });
    await send(200, 'GET /me', { cookie });
  });

  it('is not a token, and a token is not a session', async () => {
    const cookie = await signIn();
    const value = cookie.split('=')[1] ?? '';
    await api.request(401, 'GET /me', { token: value });
    await send(401, 'GET /me', { cookie: `${nameOf()}=${user.token}` });
    await send(401, 'GET /me', { cookie: `${nameOf()}=` });
    await send(401, 'GET /me', { cookie: `${nameOf()}=${'x'.repeat(4000)}` });
    await send(401, 'GET /me', { cookie: 'headrace_session_1=x' });
    const code = await codeFor(user);
    await api.request(401, 'GET /me', { token: code });
    await send(401, 'GET /me', { cookie: `${nameOf()}=${code}` });
    await send(401, 'POST /sessions', { headers: CONSOLE, body: { login_code: value } });
    // A token wins over the cookie of the same request.
    await send(401, 'GET /me', { cookie, headers: { authorization: 'Bearer nonsense' } });
    const { body } = await api.request(200, 'GET /tokens', { token: user.token });
    expect(body.tokens).toHaveLength(1);
  });

  it('is replaced by a new value when a browser with a cookie signs in', async () => {
    const cookie = await signIn();
    const body = { login_code: await codeFor(site) };
    const { headers } = await send(201, 'POST /sessions', { cookie, headers: CONSOLE, body });
    const second = (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect(second).not.toBe(cookie);
    expect((await send(200, 'GET /me', { cookie: second })).body).toMatchObject({ uid: site.uid });
    const chosen = `${nameOf()}=hs_${'A'.repeat(43)}`;
    const third = await send(201, 'POST /sessions', { cookie: chosen, headers: CONSOLE, body: { token: user.token } });
    expect(third.headers.get('set-cookie')).not.toContain('A'.repeat(43));
    await send(401, 'GET /me', { cookie: chosen });
  });

  it('is listed, and ends at once when it is deleted, with all sessions of a disabled user', async () => {
    const ada = await api.identities.user({}, 'Ada');
    const [first, second] = [await signIn(ada), await signIn(ada)];
    const { sessions } = (await send(200, 'GET /sessions', { cookie: second })).body;
    expect(sessions).toHaveLength(2);
    const other = sessions.find(({ is_current: isCurrent }: { is_current: boolean }) => !isCurrent);
    await send(403, `DELETE /sessions/${other.uid}`, { cookie: await signIn(), headers: CONSOLE });
    await send(204, `DELETE /sessions/${other.uid}`, { cookie: second, headers: CONSOLE });
    await send(404, `DELETE /sessions/${other.uid}`, { cookie: second, headers: CONSOLE });
    const ends = (cookie: string) =>
      until(
        async () => (await fetch(`${api.url}/api/v1/me`, { headers: { cookie } })).status === 401,
        5_000,
        'the end',
      );
    await ends(first);
    const out = await send(204, 'DELETE /sessions/current', { cookie: second, headers: CONSOLE });
    expect(out.headers.get('set-cookie')).toContain(`${nameOf()}=; Path=/; Max-Age=0`);
    await ends(second);
    const third = await signIn(ada);
    await api.request(200, `PUT /users/${ada.uid}`, { token: site.token, body: { is_disabled: true } });
    await ends(third);
    await api.request(404, 'POST /login-links', { token: site.token, body: { user_uid: ada.uid } });
  });

  it('cannot be created by a link of a session or token that has ended', async () => {
    const ada = await api.identities.user({}, 'Ada');
    const cookie = await signIn(ada);
    const { url } = (await send(201, 'POST /login-links', { cookie, headers: CONSOLE, body: {} })).body;
    const ofToken = await codeFor(ada);
    const { tokens } = (await api.request(200, 'GET /tokens', { token: ada.token })).body;
    await send(204, 'DELETE /sessions/current', { cookie, headers: CONSOLE });
    await api.request(204, `DELETE /tokens/${tokens[0].uid}`, { token: ada.token });
    const [demoted, disabled] = [await api.identities.administrator(), await api.identities.administrator()];
    const ofAdministrators = [
      await codeFor(demoted, { user_uid: ada.uid }),
      await codeFor(disabled, { user_uid: ada.uid }),
    ];
    const update = (uid: string, body: object) => api.request(200, `PUT /users/${uid}`, { token: site.token, body });
    await update(demoted.uid, { is_administrator: false });
    await update(disabled.uid, { is_disabled: true });
    for (const code of [new URL(url).hash.replace('#code=', ''), ofToken, ...ofAdministrators])
      await send(401, 'POST /sessions', { headers: CONSOLE, body: { login_code: code } });
  });

  it('ends with the token with which it was created, and not after it', async () => {
    const owner = await api.identities.user();
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: 'short', expires_at: expiresAt };
    const token = (await api.request(201, 'POST /tokens', { token: owner.token, body })).body;
    const created = await send(201, 'POST /sessions', { headers: CONSOLE, body: { token: token.token } });
    expect(created.body.expires_at).toBe(expiresAt);
    const cookie = (created.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    await send(200, 'GET /me', { cookie });
    await api.request(204, `DELETE /tokens/${token.uid}`, { token: owner.token });
    const status = async () => (await fetch(`${api.url}/api/v1/me`, { headers: { cookie } })).status;
    await until(async () => (await status()) === 401, 5_000, 'the end of the session');
  });

  it('is in the audit log with the link that has created it', async () => {
    const { body: link } = await api.request(201, 'POST /login-links', { token: user.token, body: {} });
    const code = new URL(link.url).hash.replace('#code=', '');
    const { body: session } = await send(201, 'POST /sessions', { headers: CONSOLE, body: { login_code: code } });
    const log = await api.request(200, 'GET /audit-log?scope=installation&action=session.created&limit=1', {
      token: site.token,
    });
    expect(log.body.entries[0]).toMatchObject({
      actor: { uid: user.uid, token_uid: link.uid },
      target: { type: 'session', uid: session.uid },
      details: { method: 'login_link' },
    });
  });

  it('keeps the stream of a run open while it is valid', async () => {
    const quick = await startTestApi({ settings: { liveAuthRecheckInterval: 50, livePoll: 20 } });
    try {
      const team = await quick.identities.team();
      const member = await quick.identities.user({ [team]: 'member' });
      const { body: run } = await quick.request(200, 'POST /agent/runs', {
        token: member.token,
        body: { prompt: 'Go.' },
      });
      const signedIn = await fetch(`${quick.url}/api/v1/sessions`, {
        method: 'POST',
        headers: { ...CONSOLE, 'content-type': 'application/json' },
        body: JSON.stringify({ token: member.token }),
      });
      const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      const session = (await signedIn.json()) as { uid: string };
      const response = await fetch(`${quick.url}/api/v1/agent/runs/${run.run_id}/events`, { headers: { cookie } });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      const reading = (async () => {
        for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) text += chunk.value;
      })();
      await until(() => Promise.resolve(text.includes('run_created')), 5_000, 'the first events');
      // Several checks of the permission later it still delivers.
      const checks = 10;
      for (let check = 0; check < checks; check += 1)
        await quick.request(200, `GET /agent/runs/${run.run_id}`, { token: member.token });
      await quick.request(200, `POST /agent/runs/${run.run_id}/followups`, {
        token: member.token,
        body: { message: 'More.' },
      });
      await until(() => Promise.resolve(text.includes('followup_received')), 5_000, 'a later event');
      expect(text).not.toContain('access_ended');
      await quick.request(204, `DELETE /sessions/${session.uid}`, { token: member.token });
      await reading;
      expect(text).not.toContain('run_ended');
    } finally {
      await quick.close();
    }
  });

  it('and a link expire', async () => {
    const expiring = await api.identities.user();
    const code = await codeFor(expiring);
    const cookie = await signIn(expiring);
    await api.advanceClock(15 * 60_000 + 1000);
    await send(401, 'POST /sessions', { headers: CONSOLE, body: { login_code: code } });
    await send(200, 'GET /me', { cookie });
    await api.advanceClock(7 * 86_400_000);
    await send(401, 'GET /me', { cookie });
  });

  it('is created once when a link is used by several browsers at the same time', async () => {
    const body = JSON.stringify({ login_code: await codeFor(user) });
    const headers = { ...CONSOLE, 'content-type': 'application/json' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fetch(`${api.url}/api/v1/sessions`, { method: 'POST', headers, body })),
    );
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  });

  it('is limited by address, and so are the links of a user that were not used', async () => {
    const limited = await startTestApi();
    try {
      const { token } = await limited.identities.user();
      const link = async (): Promise<string> => {
        const { body } = await limited.request(201, 'POST /login-links', { token, body: {} });
        return new URL(body.url).hash.replace('#code=', '');
      };
      const oldest = await link();
      let second = '';
      for (let count = 0; count < 10; count += 1) {
        const code = await link();
        if (count === 0) second = code;
      }
      const post = (body: object) =>
        fetch(`${limited.url}/api/v1/sessions`, {
          method: 'POST',
          headers: { ...CONSOLE, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      expect((await post({ login_code: oldest })).status).toBe(401);
      expect((await post({ login_code: second })).status).toBe(201);
      for (let count = 2; count < 100; count += 1) await post({});
      const refused = await post({ token });
      noteExchange('POST', '/sessions', refused.status);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({ error_code: 'rate_limited' });
      for (const path of ['lookup', 'accept']) {
        const { status } = await requestAnyStatus(limited, `POST /invitations/${path}`, { token, body: { code: 'x' } });
        expect(status).toBe(429);
      }
      await limited.advanceClock(60_000);
      expect((await post({ token })).status).toBe(201);
    } finally {
      await limited.close();
    }
  });

  it('of another user needs a link of an administrator, which the audit log has', async () => {
    await api.request(403, 'POST /login-links', { token: user.token, body: { user_uid: site.uid } });
    const body = { login_code: await codeFor(site, { user_uid: user.uid }) };
    const { headers } = await send(201, 'POST /sessions', { headers: CONSOLE, body });
    const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect((await send(200, 'GET /me', { cookie })).body).toMatchObject({ uid: user.uid });
    const log = await api.request(200, 'GET /audit-log?scope=installation&action=login_link.created', {
      token: site.token,
    });
    expect(log.body.entries[0]).toMatchObject({ actor: { uid: site.uid }, details: { user_uid: user.uid } });
    const bot = await api.identities.serviceAccount(await api.identities.team());
    await api.request(403, 'POST /login-links', { token: bot.token, body: {} });
    await api.request(403, 'GET /sessions', { token: bot.token });
    await api.request(403, 'DELETE /sessions/current', { token: bot.token });
  });
});

describe('the cookie behind HTTPS', () => {
  it('belongs to the host alone and is sent encrypted only', async () => {
    const secure = await startTestApi({ settings: { publicUrl: 'https://headrace.example.com' } });
    try {
      const { token } = await secure.identities.user();
      const response = await fetch(`${secure.url}/api/v1/sessions`, {
        method: 'POST',
        headers: { ...CONSOLE, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      });
      expect(response.headers.get('set-cookie')).toMatch(
        /^__Host-headrace_session=hs_\w{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
      );
    } finally {
      await secure.close();
    }
  });
});
