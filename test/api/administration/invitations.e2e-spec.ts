import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChainVerifier } from '#platform/audit';
import { noteExchange, startTestApi, type TestApi, type TestPrincipal, until } from '#testing';
import { inTeam, untilWaiting } from '../../support/api-requests.js';

let api: TestApi;
let team: string;
let owner: TestPrincipal;
let admin: TestPrincipal;
let site: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team('Payments');
  owner = await api.identities.user({ [team]: 'owner' }, 'Olga');
  admin = await api.identities.user({ [team]: 'admin' }, 'Ada');
  site = await api.identities.administrator();
});
afterAll(() => api.close());

const CONSOLE = { 'x-headrace-console': '1' } as const;
const call = async (status: number, line: string, { token } = admin, body?: object) =>
  (await api.request(status, line, { token, ...(body && { body }) })).body;

interface Invited {
  readonly uid: string;
  readonly code: string;
}
async function invite(email: string, role = 'member', by = admin): Promise<Invited> {
  const { uid, url } = await call(201, 'POST /invitations', by, { email, role });
  const link = new URL(url);
  expect(`${link.origin}${link.pathname}`).toBe(`${api.url}/console/invitation`);
  return { uid, code: link.hash.replace('#code=', '') };
}

/** As a browser sends it, without a token. */
async function send(status: number, path: string, body: object, headers: Readonly<Record<string, string>> = CONSOLE) {
  const response = await fetch(`${api.url}/api/v1/invitations/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  noteExchange('POST', `/invitations/${path}`, response.status);
  expect(response.status, text).toBe(status);
  return { body: JSON.parse(text), cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

async function as(cookie: string): Promise<{ uid: string; display_name: string; memberships: object[] }> {
  return (await fetch(`${api.url}/api/v1/me`, { headers: { cookie } })).json() as never;
}

async function sessionOf({ token }: TestPrincipal): Promise<string> {
  const response = await fetch(`${api.url}/api/v1/sessions`, {
    method: 'POST',
    headers: { ...CONSOLE, 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** With the address of the invitation as the address of a user who exists. */
const emailOf = ({ uid }: TestPrincipal): string => `${uid}@example.test`;

describe('an invitation', () => {
  it('creates a user who is a member, and signs the browser in, once', async () => {
    const { uid, code } = await invite('Grace@example.test', 'viewer');
    expect((await send(200, 'lookup', { code }, {})).body).toEqual({
      ...{ team_name: 'Payments', email: 'Grace@example.test', role: 'viewer', invited_by: 'Ada' },
      expires_at: expect.any(String),
    });
    const { body, cookie } = await send(201, 'accept', { code, display_name: 'Grace' });
    expect(body).toMatchObject({ method: 'invitation', is_current: true });
    expect(JSON.stringify(body)).not.toContain('hs_');
    expect(await as(cookie)).toMatchObject({
      ...{ display_name: 'Grace', email: 'Grace@example.test', is_administrator: false },
      memberships: [{ team_uid: team, role: 'viewer' }],
    });
    await send(401, 'accept', { code, display_name: 'Eve' });
    await send(401, 'lookup', { code });
    const { entries } = await call(200, `GET /audit-log?target_uid=${uid}`);
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      ...['invitation.accepted', 'invitation.created'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(code);
    const created = await call(200, 'GET /audit-log?scope=installation&action=user.created', site);
    expect(created.entries[0]).toMatchObject({ details: { invitation_uid: uid } });
    const dump = await api.database.query<{ line: string }>('SELECT i::text AS line FROM headrace.invitations i');
    expect(dump.map(({ line }) => line).join()).not.toContain(code);
  });

  it('is listed without its link, and not valid after it was revoked, replaced or has expired', async () => {
    const first = await invite('lin@example.test');
    const second = await invite('LIN@example.test', 'admin');
    await send(401, 'accept', { code: first.code });
    const { invitations } = await call(200, 'GET /invitations');
    expect(invitations).toMatchObject([
      { uid: second.uid, email: 'LIN@example.test', role: 'admin', invited_by: 'Ada' },
    ]);
    expect(JSON.stringify(invitations)).not.toContain(second.code);
    await call(204, `DELETE /invitations/${second.uid}`);
    await call(404, `DELETE /invitations/${second.uid}`);
    await send(401, 'lookup', { code: second.code });
    await send(401, 'accept', { code: second.code });
    for (const code of ['nonsense', `hi_${'a'.repeat(43)}`]) await send(401, 'accept', { code });
  });

  it('never signs in as a user who exists, who accepts it when signed in', async () => {
    const known = await api.identities.user({}, 'Kim');
    const { code } = await invite(emailOf(known), 'viewer');
    // The person who invites has the link, too.
    for (const headers of [CONSOLE, { ...CONSOLE, cookie: await sessionOf(admin) }]) {
      const { body, cookie } = await send(403, 'accept', { code, display_name: 'Eve' }, headers);
      expect(body.detail).toContain('sign in first');
      expect(cookie).toBe('');
    }
    const signedIn = await sessionOf(known);
    const { cookie } = await send(201, 'accept', { code, display_name: 'Other' }, { ...CONSOLE, cookie: signedIn });
    expect(await as(cookie)).toMatchObject({ uid: known.uid, display_name: 'Kim', memberships: [{ role: 'viewer' }] });
  });

  it('of a member is rejected, and ends when the person becomes a member or is removed in another way', async () => {
    expect(await call(409, 'POST /invitations', admin, { email: emailOf(owner), role: 'viewer' })).toMatchObject({
      error_code: 'conflict',
    });
    const late = await api.identities.user({}, 'Late');
    const { code } = await invite(emailOf(late), 'viewer');
    const byAdministrator = { token: site.token, headers: inTeam(team), body: { role: 'admin' } };
    await api.request(200, `PUT /members/${late.uid}`, byAdministrator);
    const cookie = await sessionOf(late);
    await send(401, 'accept', { code }, { ...CONSOLE, cookie });
    expect(await as(cookie)).toMatchObject({ memberships: [{ role: 'admin' }] });
    await call(204, `DELETE /members/${late.uid}`, owner);
    await send(401, 'accept', { code }, { ...CONSOLE, cookie });
    expect(await as(cookie)).toMatchObject({ memberships: [] });
  });

  it('gives no access that lasts when the user becomes an administrator, because another person may have accepted it', async () => {
    const { code } = await invite('cto@example.test', 'viewer');
    const { cookie } = await send(201, 'accept', { code, display_name: 'Eve' });
    const { uid } = await as(cookie);
    await call(200, `PUT /users/${uid}`, site, { is_administrator: true });
    const statusOfMe = async () => (await fetch(`${api.url}/api/v1/me`, { headers: { cookie } })).status;
    await until(async () => (await statusOfMe()) === 401, 5_000, 'the end of the session');
    // Only once: what the owner of the address creates afterwards stays.
    const { url } = await call(201, 'POST /login-links', site, { user_uid: uid });
    await call(200, `PUT /users/${uid}`, site, { is_administrator: true });
    const response = await fetch(`${api.url}/api/v1/sessions`, {
      method: 'POST',
      headers: { ...CONSOLE, 'content-type': 'application/json' },
      body: JSON.stringify({ login_code: new URL(url).hash.replace('#code=', '') }),
    });
    expect(response.status).toBe(201);
  });

  it('gives no access that is created while the access of the person ends', async () => {
    const { code } = await invite('slow@example.test');
    const { cookie } = await send(201, 'accept', { code, display_name: 'Slow' });
    const { uid } = await as(cookie);
    const inviting = await api.identities.user({ [await api.identities.team('Other')]: 'admin' });
    const other = await invite('slow@example.test', 'viewer', inviting);
    const login = (await call(201, 'POST /login-links', site, { user_uid: uid })).url;
    const post = async (path: string, body: object): Promise<number> => {
      const response = await fetch(`${api.url}/api/v1/${path}`, {
        method: 'POST',
        headers: { ...CONSOLE, cookie, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return response.status;
    };
    const schedule = { name: 'mine', cron_schedule: '0 0 1 1 *', prompt: 'Nothing.', enabled: true, team: false };
    const takeover = new pg.Client({ connectionString: api.database.url });
    await takeover.connect();
    try {
      await takeover.query('BEGIN');
      await takeover.query('UPDATE headrace.users SET is_email_verified = true WHERE uid = $1', [uid]);
      await takeover.query('UPDATE headrace.tokens SET revoked_at = headrace.now() WHERE user_uid = $1', [uid]);
      const requests = [
        post('tokens', { name: 'kept' }),
        post('login-links', {}),
        post('agent/schedules', schedule),
        post('sessions', { login_code: new URL(login).hash.replace('#code=', '') }),
        post('invitations/accept', { code: other.code }),
      ];
      await untilWaiting(api, requests.length);
      await takeover.query('COMMIT');
      expect(await Promise.all(requests)).toEqual([404, 404, 403, 401, 403]);
    } finally {
      await takeover.end();
    }
    const valid = 'SELECT 1 FROM headrace.tokens WHERE user_uid = $1 AND revoked_at IS NULL';
    expect(await api.database.query(valid, [uid])).toEqual([]);
    expect(await api.database.query('SELECT 1 FROM headrace.schedules WHERE owner_user_uid = $1', [uid])).toEqual([]);
  });

  it('to be an owner needs an owner or an administrator, whose right is checked again when it is accepted', async () => {
    const body = { email: 'boss@example.test', role: 'owner' };
    await call(403, 'POST /invitations', admin, body);
    const { code } = await invite('boss@example.test', 'owner', owner);
    await send(200, 'lookup', { code });
    const leaving = await api.identities.user({ [team]: 'admin' });
    const left = await invite('friend@example.test', 'admin', leaving);
    await call(204, `DELETE /members/${leaving.uid}`, owner);
    await send(401, 'lookup', { code: left.code });
    await send(401, 'accept', { code: left.code, display_name: 'Friend' });
    const { url } = (await api.request(201, 'POST /invitations', { token: site.token, headers: inTeam(team), body }))
      .body;
    await send(201, 'accept', { code: new URL(url).hash.replace('#code=', ''), display_name: 'Boss' });
  });

  it('needs the header of the console to be accepted, and comes from the same origin', async () => {
    const { code } = await invite('header@example.test');
    await send(403, 'accept', { code }, {});
    await send(403, 'accept', { code }, { ...CONSOLE, 'sec-fetch-site': 'cross-site' });
    for (const body of [{}, { code: '' }, { code, display_name: ' ' }]) await send(400, 'accept', body);
    await send(400, 'lookup', {});
  });

  it('is accepted once by several browsers at the same time', async () => {
    const { code } = await invite('race@example.test');
    const headers = { ...CONSOLE, 'content-type': 'application/json' };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        fetch(`${api.url}/api/v1/invitations/accept`, { method: 'POST', headers, body: JSON.stringify({ code }) }),
      ),
    );
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(1);
  });

  it('is one of at most 100 of a team, and expires after seven days', async () => {
    const crowd = await api.identities.team('Crowd');
    const { token, uid } = await api.identities.user({ [crowd]: 'admin' });
    await api.database.query(
      `INSERT INTO headrace.invitations (uid, hash, team_uid, email, role, created_by, expires_at)
       SELECT lpad(n::text, 22, 'z'), sha256(convert_to(n::text, 'UTF8')), $1, n || '@example.test', 'viewer', $2,
              headrace.now() + interval '1 day' FROM generate_series(1, 100) n`,
      [crowd, uid],
    );
    const body = { email: 'more@example.test', role: 'viewer' };
    expect((await api.request(403, 'POST /invitations', { token, body })).body.error_code).toBe('limit_reached');
    // Another one of the same address replaces it.
    const again = { ...body, email: '1@example.test' };
    const { url } = (await api.request(201, 'POST /invitations', { token, body: again })).body;
    await api.advanceClock(7 * 86_400_000);
    await send(401, 'lookup', { code: new URL(url).hash.replace('#code=', '') });
    await api.request(201, 'POST /invitations', { token, body });
    expect((await api.request(200, 'GET /invitations', { token })).body.invitations).toHaveLength(1);
  });
});

describe('the audit log', () => {
  it('is a complete chain after all of this', async () => {
    for (const [token, query] of [
      [owner.token, ''],
      [site.token, '?scope=installation'],
    ] as const) {
      const response = await fetch(`${api.url}/api/v1/audit-log/export${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const verifier = new ChainVerifier();
      const lines = (await response.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      for (const line of lines.slice(0, -1)) verifier.add(line);
      expect(verifier.end(lines.at(-1).head)).toMatchObject({ kind: 'valid' });
    }
  });
});
