import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { GroupRole } from '#platform/config';
import { SweepExecutions } from '#execution/executions';
import { startTestApi, type TestApi, type TestPrincipal, TestRunner, until } from '#testing';
import { ScheduleLauncher } from '../../../libs/domain/schedules/src/application/schedule-launcher.js';
import { SchedulesStore } from '../../../libs/domain/schedules/src/persistence/schedules.store.js';
import { type Behaviour, HostileProvider } from '../../support/openid/hostile-provider.js';

const CLIENT = { id: 'headrace', secret: 'a secret: of the client' };

let provider: HostileProvider;
let api: TestApi;
let builders: string;
let operators: string;
/** Filled when the teams exist. */
const groupRoles: GroupRole[] = [];
const settings = { oidcCreateUsers: true, oidcLinkUsers: true, oidcTrustEmail: false };

beforeAll(async () => {
  provider = await HostileProvider.start(CLIENT);
  api = await startTestApi({
    settings: {
      oidcIssuer: provider.issuer,
      oidcClientId: CLIENT.id,
      oidcClientSecret: CLIENT.secret,
      oidcName: 'Example',
      oidcGroupRoles: groupRoles,
      ...settings,
    },
  });
  [builders, operators] = await Promise.all([api.identities.team('Builders'), api.identities.team('Operators')]);
  groupRoles.push(
    { group: 'engineers', team: builders, role: 'member' },
    { group: 'leads, of all', team: builders, role: 'owner' },
    { group: 'operators', team: operators, role: 'admin' },
    { group: 'nobody', team: '0'.repeat(22), role: 'admin' },
  );
});
beforeEach(() => {
  provider.behaviour = {};
});
afterAll(async () => {
  await api.close();
  await provider.close();
});

type User = Readonly<Record<string, unknown>>;
let users = 0;
const newUser = (fields: User = {}): User => {
  users += 1;
  const email = `user-${users}@example.test`;
  return { sub: `subject-${users}`, email, email_verified: true, name: `User ${users}`, ...fields };
};

/** As a browser navigates: with cookies, and without following redirects. */
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${api.url}/api/v1${path}`, { redirect: 'manual', headers });

const cookiesOf = (response: Response): string[] => response.headers.getSetCookie();
const pair = (cookie = ''): string => cookie.split(';')[0] ?? '';
const named = (response: Response, name: 'session' | 'openid'): string | undefined =>
  cookiesOf(response).find((cookie) => cookie.startsWith(`headrace_${name}_`));

interface Flow {
  readonly address: URL;
  readonly cookie: string;
}

async function start(returnTo = 'runs', headers: Record<string, string> = {}): Promise<Flow> {
  const response = await get(`/sign-in/openid?return_to=${encodeURIComponent(returnTo)}`, headers);
  expect(response.status).toBe(302);
  return { address: new URL(response.headers.get('location') ?? ''), cookie: pair(named(response, 'openid')) };
}

const back = (query: Record<string, string>, cookie: string): Promise<Response> =>
  get(`/sign-in/openid/callback?${new URLSearchParams(query).toString()}`, { cookie, 'sec-fetch-site': 'cross-site' });

async function signIn(user: User, returnTo?: string): Promise<Response> {
  const { address, cookie } = await start(returnTo);
  return back(provider.authorize(address, user), cookie);
}

/** The principal of a sign-in that must succeed. */
async function principalOf(response: Response) {
  expect(response.headers.get('location')).toContain(`${api.url}/console/sign-in?signed_in=1`);
  const me = await get('/me', { cookie: pair(named(response, 'session')) });
  expect(me.status).toBe(200);
  return (await me.json()) as {
    uid: string;
    email: string;
    display_name: string;
    memberships: { team_uid: string; role: string }[];
  };
}

function expectRejected(response: Response, error: string): void {
  expect(response.status).toBe(302);
  expect(response.headers.get('location')).toBe(`${api.url}/console/sign-in?error=${error}`);
  expect(named(response, 'session')).toBeUndefined();
}

/** As anybody can who has the link. */
async function acceptInvitation(admin: TestPrincipal, email: string) {
  const { url } = (await api.request(201, 'POST /invitations', { token: admin.token, body: { email, role: 'member' } }))
    .body;
  const headers = { 'x-headrace-console': '1', 'content-type': 'application/json' };
  const accepted = await fetch(`${api.url}/api/v1/invitations/accept`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ code: new URL(url).hash.replace('#code=', ''), display_name: 'Eve' }),
  });
  const cookie = pair(named(accepted, 'session'));
  const tokens = await fetch(`${api.url}/api/v1/tokens`, {
    method: 'POST',
    headers: { ...headers, cookie },
    body: JSON.stringify({ name: 'kept' }),
  });
  const { token } = (await tokens.json()) as { token: string };
  return { token, cookie, uid: (await api.request(200, 'GET /me', { token })).body.uid as string };
}

describe('sign-in by OpenID Connect', () => {
  it('is offered to browsers with the name of the provider', async () => {
    const { body } = await api.request(200, 'GET /sign-in-options');
    expect(body).toEqual({ openid: { name: 'Example' } });
  });

  it('asks the provider with PKCE, state and nonce that only the browser can bring back', async () => {
    const response = await get('/sign-in/openid?return_to=inbox');
    const address = new URL(response.headers.get('location') ?? '');
    expect(`${address.origin}${address.pathname}`).toBe(`${provider.issuer}/authorize`);
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: CLIENT.id,
      response_type: 'code',
      redirect_uri: `${api.url}/api/v1/sign-in/openid/callback`,
      scope: 'openid email profile',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const [cookie = '', ...others] = cookiesOf(response);
    expect(others).toEqual([]);
    expect(cookie).toMatch(/^headrace_openid_\d+=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const stored = JSON.stringify(
      await api.database.query('SELECT to_jsonb(s)::text AS text FROM headrace.openid_sign_ins s'),
    );
    for (const secret of [pair(cookie).split('=')[1] ?? '', ...address.searchParams.values()].filter(
      (value) => value.length === 43,
    ))
      expect(stored).not.toContain(secret);
  });

  it('creates a user and a session in a cookie of the same site, and removes the cookie of the sign-in', async () => {
    const user = newUser();
    const response = await signIn(user, 'runs?state=failed');
    expect(response.headers.get('location')).toBe(
      `${api.url}/console/sign-in?signed_in=1&return_to=${encodeURIComponent('runs?state=failed').replaceAll('%20', '+')}`,
    );
    expect(named(response, 'session')).toMatch(/=hs_\w{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
    expect(named(response, 'openid')).toMatch(/=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/);
    expect(await principalOf(response)).toMatchObject({ email: user.email, display_name: user.name, memberships: [] });
    const cookie = pair(named(response, 'session'));
    const sessions = await (await get('/sessions', { cookie })).json();
    expect(sessions).toMatchObject({ sessions: [{ method: 'openid', is_current: true, address: '127.0.0.1' }] });
  });

  it('knows a user by the subject, also when the e-mail address has changed', async () => {
    const user = newUser();
    const first = await principalOf(await signIn(user));
    const again = await principalOf(await signIn({ ...user, email: 'new@example.test', email_verified: false }));
    expect(again).toMatchObject({ uid: first.uid, email: first.email });
    expectRejected(await signIn(newUser({ email: first.email })), 'email_taken');
  });

  it('links an existing user only by a verified address', async () => {
    const existing = await api.identities.user({ [builders]: 'viewer' });
    const { email } = (await api.request(200, 'GET /me', { token: existing.token })).body;
    expectRejected(await signIn(newUser({ email, email_verified: false })), 'email_not_verified');
    expectRejected(await signIn(newUser({ email, email_verified: 'true' })), 'email_not_verified');
    expectRejected(await signIn(newUser({ email: undefined })), 'no_email');
    // PostgreSQL finds these equal to other letters, such as the Kelvin sign to a `k`.
    for (const letter of '\u212A\u0130\u03F4\u1E9E\u2126\u212B')
      expectRejected(await signIn(newUser({ email: `${letter}im@example.test` })), 'no_email');
    const linked = await principalOf(await signIn(newUser({ email: email.toUpperCase() })));
    // The role that was given by hand stays.
    expect(linked).toMatchObject({ uid: existing.uid, memberships: [{ team_uid: builders, role: 'viewer' }] });
    expectRejected(await signIn(newUser({ email })), 'email_taken');
  });

  it('ends the access of a person who has accepted an invitation to the address of another one', async () => {
    const admin = await api.identities.user({ [builders]: 'admin' });
    const email = 'cto@example.test';
    const { token, cookie } = await acceptInvitation(admin, email);
    // What the person shares, and what runs for them.
    const environment = (
      await api.request(201, 'POST /environments', { token, body: { config: { name: 'shared' }, team: false } })
    ).body.uid as string;
    await api.request(201, `POST /environments/${environment}/grants`, { token, body: { user_uid: admin.uid } });
    await api.request(201, `POST /environments/${environment}/links`, { token, body: {} });
    const external = (
      await api.request(200, 'POST /agent/runs/external', { token, body: { prompt: 'Go.', team: false } })
    ).body;
    const runner = await TestRunner.claim(api, external.execution_id as string, external.token as string);
    const queued = (await api.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.', team: false } })).body
      .run_id as string;
    const user = newUser({ email });
    const { uid } = await principalOf(await signIn(user));
    const ended: Record<string, string>[] = [{ authorization: `Bearer ${token}` }, { cookie }];
    for (const headers of ended)
      await until(async () => (await get('/me', headers)).status === 401, 5_000, 'the end of the access');
    const shared = (await api.request(200, 'GET /agent/environments', { token: admin.token })).body.environments;
    expect(shared).toEqual([]);
    const left = await api.database.query<{ uid: string; links: number }>(
      `SELECT e.uid, (SELECT count(*)::int FROM environment_links l WHERE l.environment_uid = e.uid) AS links
         FROM environments e WHERE owner_user_uid = $1`,
      [uid],
    );
    // Nothing that the earlier person has created refers to it any more.
    expect(left).toEqual([{ uid: expect.not.stringMatching(environment) as string, links: 0 }]);
    const child = { key: 'child', prompt: 'Read it.', lease_epoch: runner.assignment.lease_epoch };
    const started = await api.request(200, `POST /runner/v1/executions/${external.execution_id}/runs`, {
      token: runner.token,
      body: child,
    });
    expect(started.body).toEqual({ problem: expect.stringContaining('may no longer create') });
    await api.app.get(SweepExecutions, { strict: false }).execute();
    const stateOf = async (runId: string): Promise<string> =>
      (await api.database.query<{ state: string }>('SELECT state FROM runs WHERE id = $1', [runId]))[0]?.state ?? '';
    expect(await stateOf(external.run_id as string)).toBe('CANCELLED');
    await expect(TestRunner.take(api, queued)).rejects.toThrow('expected 200, got 412');
    expect(await stateOf(queued)).toBe('FAILED');
    // Once: what the user creates afterwards stays.
    const own = pair(named(await signIn(user), 'session'));
    await signIn(user);
    expect(await (await get('/me', { cookie: own })).json()).toMatchObject({ uid, email });
  });

  it('continues schedules that such a person has saved for a team, without what others share with the account', async () => {
    const admin = await api.identities.user({ [builders]: 'admin' });
    const email = 'cfo@example.test';
    const { token, uid } = await acceptInvitation(admin, email);
    const carol = await api.identities.user({ [builders]: 'member' });
    const config = { name: 'of Carol' };
    const environment = (
      await api.request(201, 'POST /environments', { token: carol.token, body: { config, team: false } })
    ).body.uid as string;
    await api.request(201, `POST /environments/${environment}/grants`, { token: carol.token, body: { user_uid: uid } });
    const fields = { enabled: true, prompt: 'Go.', agent_config: { environment_id: environment } };
    const schedule = (
      await api.request(201, 'POST /agent/schedules', {
        token,
        body: { ...fields, name: 'nightly', cron_schedule: '0 3 * * *', team: true },
      })
    ).body.id as string;
    const launch = async (dueAt: string) => {
      const found = await api.app.get(SchedulesStore, { strict: false }).find(schedule);
      if (found === null) throw new Error('There is no schedule.');
      return api.app.get(ScheduleLauncher, { strict: false }).launchDue(found, new Date(dueAt));
    };
    expect(await launch('2026-01-01T03:00:00Z')).toMatchObject({ kind: 'started' });
    await principalOf(await signIn(newUser({ email })));
    expect(await launch('2026-01-02T03:00:00Z')).toMatchObject({ kind: 'refused' });
  });

  it('is not delayed by links that the earlier person creates and deletes at the same time', async () => {
    const email = 'ceo@example.test';
    const { token } = await acceptInvitation(await api.identities.user({ [builders]: 'admin' }), email);
    const { uid } = (await api.request(201, 'POST /environments', { token, body: { config: {}, team: false } })).body;
    const isEnded = async (): Promise<boolean> => {
      const path = `${api.url}/api/v1/environments/${uid as string}/links`;
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const created = await fetch(path, { method: 'POST', headers, body: '{}' });
      const { uid: link } = (await created.json()) as { uid?: string };
      if (link !== undefined) await fetch(`${path}/${link}`, { method: 'DELETE', headers });
      return created.status === 401;
    };
    const repeat = async (): Promise<void> => {
      while (!(await isEnded()));
    };
    const all = Promise.all(Array.from({ length: 16 }, repeat));
    await principalOf(await signIn(newUser({ email })));
    await all;
  });

  it('takes address and groups from the user information if the ID token has none', async () => {
    const { email, name, ...token } = newUser();
    provider.behaviour = { metadata: { userinfo_endpoint: `${provider.issuer}/userinfo` } };
    const fresh = await startTestApi({ database: api.database, settings: { ...api.settings, port: 0 } });
    try {
      provider.behaviour = {
        userInfo: { sub: token.sub, email, email_verified: true, name, groups: ['operators'] },
      };
      const response = await fetch(`${fresh.url}/api/v1/sign-in/openid`, { redirect: 'manual' });
      const address = new URL(response.headers.get('location') ?? '');
      const query = new URLSearchParams(provider.authorize(address, { sub: token.sub })).toString();
      const cookie = pair(named(response, 'openid'));
      const done = await fetch(`${fresh.url}/api/v1/sign-in/openid/callback?${query}`, {
        redirect: 'manual',
        headers: { cookie },
      });
      const me = await fetch(`${fresh.url}/api/v1/me`, { headers: { cookie: pair(named(done, 'session')) } });
      expect(await me.json()).toMatchObject({ email, display_name: name, memberships: [{ team_uid: operators }] });
    } finally {
      await fresh.close();
    }
  });

  it('sets the roles that groups give at every sign-in, and keeps the last owner', async () => {
    const user = newUser();
    const rolesOf = async (groups: unknown) =>
      (await principalOf(await signIn({ ...user, groups }))).memberships
        .map(({ team_uid: team, role }) => `${team === builders ? 'builders' : 'operators'}: ${role}`)
        .sort();
    expect(await rolesOf(['engineers', 'operators', 'unknown', 7])).toEqual(['builders: member', 'operators: admin']);
    expect(await rolesOf('engineers')).toEqual(['builders: member']);
    // The most powerful role counts; the only owner of a team cannot be removed.
    expect(await rolesOf(['engineers', 'leads, of all', 'nobody'])).toEqual(['builders: owner']);
    expect(await rolesOf(undefined)).toEqual(['builders: owner']);
    await api.identities.user({ [builders]: 'owner' });
    expect(await rolesOf({})).toEqual([]);
    // A role that was given by hand is not changed.
    const { uid } = await principalOf(await signIn(user));
    const site = await api.identities.administrator({ [operators]: 'owner' });
    await api.request(200, `PUT /members/${uid}`, { token: site.token, body: { role: 'viewer' } });
    expect(await rolesOf(['operators'])).toEqual(['operators: viewer']);
    expect(await rolesOf([])).toEqual(['operators: viewer']);
    const log = await api.request(200, `GET /audit-log?action=member.&target_uid=${uid}`, { token: site.token });
    expect(log.body.entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          action: 'member.updated',
          actor: { type: 'system', name: 'Example' },
          details: { from_groups: true, role: 'admin' },
        }),
        expect.objectContaining({ action: 'member.deleted', details: { from_groups: true } }),
      ]),
    );
    const installation = await api.request(200, 'GET /audit-log?scope=installation&limit=500', { token: site.token });
    expect(installation.body.entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'user.created', target: { type: 'user', uid } }),
        expect.objectContaining({
          action: 'session.created',
          actor: { type: 'user', uid },
          details: { method: 'openid', issuer: provider.issuer, subject: user.sub },
        }),
      ]),
    );
  });

  it('rejects disabled users', async () => {
    const user = newUser();
    const { uid } = await principalOf(await signIn(user));
    const site = await api.identities.administrator();
    await api.request(200, `PUT /users/${uid}`, { token: site.token, body: { is_disabled: true } });
    expectRejected(await signIn(user), 'disabled');
    expectRejected(await signIn(newUser({ email: user.email })), 'disabled');
  });

  it('gives a new session at each sign-in and ends the one that the browser had', async () => {
    const user = newUser();
    const first = pair(named(await signIn(user), 'session'));
    const { address, cookie } = await start('runs', { cookie: first });
    // The cookie of the session is not sent with the navigation from the provider.
    const response = await back(provider.authorize(address, user), cookie);
    const second = pair(named(response, 'session'));
    expect(second).not.toBe(first);
    expect((await get('/me', { cookie: first })).status).toBe(401);
    expect((await get('/me', { cookie: second })).status).toBe(200);
    // A value that somebody else has chosen is not adopted.
    const chosen = `${first.split('=')[0]}=hs_${'a'.repeat(43)}`;
    const again = await start('runs', { cookie: chosen });
    const fixed = await back(provider.authorize(again.address, user), `${again.cookie}; ${chosen}`);
    expect(pair(named(fixed, 'session'))).not.toBe(chosen);
    expect((await get('/me', { cookie: chosen })).status).toBe(401);
  });

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'javascript:alert(1)',
    'runs/../../evil',
    '..//evil.example',
    'runs\r\nset-cookie: a=b',
    'runs#https://evil.example',
    '%2f%2fevil.example',
    'x'.repeat(2000),
  ])('leads to no other place than a page of the console, case %#', async (returnTo) => {
    const location = new URL((await signIn(newUser(), returnTo)).headers.get('location') ?? '');
    expect(location.origin).toBe(api.url);
    expect(location.searchParams.get('return_to')).toBe('runs');
  });

  it('does not start for another site, and not for requests without a browser that asked', async () => {
    for (const site of ['cross-site', 'same-site']) {
      const forced = await get('/sign-in/openid', { 'sec-fetch-site': site });
      expect(forced.headers.get('location')).toBe(`${api.url}/console/sign-in`);
      expect(cookiesOf(forced)).toEqual([]);
    }
    const { address, cookie } = await start();
    const query = provider.authorize(address, newUser());
    expectRejected(await back(query, ''), 'expired');
    expectRejected(await back(query, `${cookie.split('=')[0]}=${'x'.repeat(43)}`), 'expired');
    // The sign-in of another browser, whose address somebody has sent to the user.
    const other = await start();
    expectRejected(await back(query, other.cookie), 'expired');
    expectRejected(await back({ ...query, state: '' }, cookie), 'expired');
    expectRejected(await back({ ...query, state: `${query.state}é` }, cookie), 'expired');
    // None of these has ended the sign-in of the browser.
    await principalOf(await back(query, cookie));
  });

  it('cannot be completed twice, or too late, even if the provider accepts it', async () => {
    provider.behaviour = { acceptsReplays: true };
    const { address, cookie } = await start();
    const query = provider.authorize(address, newUser());
    const answers = await Promise.all(Array.from({ length: 6 }, () => back(query, cookie)));
    expect(answers.filter((answer) => named(answer, 'session') !== undefined)).toHaveLength(1);
    expectRejected(await back(query, cookie), 'expired');
    // A code of another sign-in has another nonce and another verifier.
    const next = await start();
    expectRejected(
      await back({ ...query, state: next.address.searchParams.get('state') ?? '' }, next.cookie),
      'invalid',
    );
    const late = await start();
    await api.advanceClock(10 * 60_000 + 1000);
    expectRejected(await back(provider.authorize(late.address, newUser()), late.cookie), 'expired');
  });

  it('shows a refusal of the provider in own words only', async () => {
    const text = '<script>alert(1)</script>';
    for (const [error, reason] of [
      ['access_denied', 'denied'],
      [text, 'invalid'],
    ] as const) {
      const { address, cookie } = await start();
      const state = address.searchParams.get('state') ?? '';
      const response = await back({ error, error_description: text, state, iss: provider.issuer }, cookie);
      expectRejected(response, reason);
      expect(await response.text()).not.toContain('<script>');
    }
  });

  it('rejects the response of another provider (mix-up)', async () => {
    const { address, cookie } = await start();
    const query = provider.authorize(address, newUser());
    expectRejected(await back({ ...query, iss: 'https://evil.example' }, cookie), 'invalid');
    const { address: next, cookie: fresh } = await start();
    const { iss: _, ...without } = provider.authorize(next, newUser());
    expectRejected(await back(without, fresh), 'invalid');
  });

  const now = (): number => Math.floor(Date.now() / 1000);
  it.each<[string, () => Behaviour]>([
    ['a wrong issuer', () => ({ claims: { iss: 'https://evil.example' } })],
    ['a wrong audience', () => ({ claims: { aud: 'another-client' } })],
    ['several audiences without the authorized party', () => ({ claims: { aud: [CLIENT.id, 'x'], azp: 'x' } })],
    ['a wrong nonce', () => ({ claims: { nonce: 'x' } })],
    ['no nonce', () => ({ claims: { nonce: undefined } })],
    ['no subject', () => ({ claims: { sub: undefined } })],
    ['a subject of another type', () => ({ claims: { sub: 7 } })],
    ['a subject that is too long', () => ({ claims: { sub: 'x'.repeat(300) } })],
    ['an expired ID token', () => ({ claims: { exp: now() - 120, iat: now() - 600 } })],
    ['an ID token of the future', () => ({ claims: { nbf: now() + 600 } })],
    ['no expiry', () => ({ claims: { exp: undefined } })],
    ['the algorithm none', () => ({ algorithm: 'none' })],
    ['a symmetric algorithm with the public key', () => ({ algorithm: 'HS256' })],
    ['the signature of another key', () => ({ algorithm: 'another key' })],
    ['claims that were changed after the signature', () => ({ tampered: true })],
    ['no ID token', () => ({ withoutIdToken: true })],
    ['an error of the token endpoint', () => ({ fault: { path: '/token', kind: 'status 500' } })],
    ['a redirect of the token endpoint', () => ({ fault: { path: '/token', kind: 'redirect' } })],
    ['a response that is no JSON', () => ({ fault: { path: '/token', kind: 'not json' } })],
    ['a response that is too large', () => ({ fault: { path: '/token', kind: 'too large' } })],
  ])('rejects %s', async (_, behaviour) => {
    const { address, cookie } = await start();
    provider.behaviour = behaviour();
    const response = await back(provider.authorize(address, newUser()), cookie);
    expectRejected(response, 'invalid');
    expect(provider.requests).not.toContain('/elsewhere');
  });

  it('accepts clocks that differ by some seconds', async () => {
    provider.behaviour = { claims: { exp: now() - 10, iat: now() - 300 } };
    await principalOf(await signIn(newUser()));
  });

  it('says that the provider cannot be reached when it closes connections', async () => {
    const { address, cookie } = await start();
    provider.behaviour = { fault: { path: '/token', kind: 'closed' } };
    expectRejected(await back(provider.authorize(address, newUser()), cookie), 'unreachable');
  });

  it('limits how many sign-ins an address starts', async () => {
    const answers: string[] = [];
    for (let attempt = 0; attempt < 310; attempt += 1)
      answers.push((await get('/sign-in/openid')).headers.get('location') ?? '');
    expect(answers.at(-1)).toBe(`${api.url}/console/sign-in?error=too_many`);
    await api.advanceClock(10 * 60_000 + 1000);
    await start();
    const rows = await api.database.query('SELECT 1 FROM headrace.openid_sign_ins');
    expect(rows).toHaveLength(1);
  });
});

describe('an installation', () => {
  it('offers no sign-in by OpenID Connect without a provider', async () => {
    const plain = await startTestApi();
    try {
      expect((await plain.request(200, 'GET /sign-in-options')).body).toEqual({});
      for (const path of ['', '/callback']) {
        const response = await fetch(`${plain.url}/api/v1/sign-in/openid${path}`, { redirect: 'manual' });
        expect(response.status).toBe(404);
      }
    } finally {
      await plain.close();
    }
  });

  it('starts while the provider is down or lies about its name, and signs in below a prefix when it is up', async () => {
    const late = await HostileProvider.start(CLIENT);
    const publicUrl = 'https://example.test/headrace';
    const prefixed = await startTestApi({
      settings: {
        publicUrl,
        oidcIssuer: late.issuer,
        oidcClientId: CLIENT.id,
        oidcClientSecret: CLIENT.secret,
        oidcCreateUsers: false,
        oidcLinkUsers: false,
      },
    });
    const go = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${prefixed.url}/api/v1/sign-in/openid${path}`, { redirect: 'manual', headers });
    try {
      for (const behaviour of [
        { fault: { path: '/.well-known/openid-configuration', kind: 'status 500' } },
        { fault: { path: '/.well-known/openid-configuration', kind: 'too large' } },
        { metadata: { issuer: 'https://evil.example' } },
      ] satisfies Behaviour[]) {
        late.behaviour = behaviour;
        const response = await go('');
        expect(response.headers.get('location')).toBe(`${publicUrl}/console/sign-in?error=unreachable`);
        expect(cookiesOf(response)).toEqual([]);
      }
      late.behaviour = {};
      const response = await go('?return_to=inbox');
      const address = new URL(response.headers.get('location') ?? '');
      expect(address.searchParams.get('redirect_uri')).toBe(`${publicUrl}/api/v1/sign-in/openid/callback`);
      const [cookie = ''] = cookiesOf(response);
      expect(cookie).toMatch(
        /^__Host-headrace_openid=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      );
      const existing = await prefixed.identities.user();
      const { email } = (await prefixed.request(200, 'GET /me', { token: existing.token })).body;
      for (const [user, error] of [
        [newUser(), 'unknown_user'],
        [newUser({ email }), 'email_taken'],
      ] as const) {
        const started = await go('');
        const query = late.authorize(new URL(started.headers.get('location') ?? ''), user);
        const done = await go(`/callback?${new URLSearchParams(query).toString()}`, {
          cookie: pair(cookiesOf(started)[0]),
        });
        expect(done.headers.get('location')).toBe(`${publicUrl}/console/sign-in?error=${error}`);
      }
    } finally {
      await prefixed.close();
      await late.close();
    }
  });
});
