import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DatabaseListener } from '#platform/persistence';
import { startTestApi, type TestApi, type TestPrincipal, until } from '#testing';
import { inTeam, requestAnyStatus, untilWaiting } from '../../support/api-requests.js';

let api: TestApi;
let team: string;
let owner: TestPrincipal;
let admin: TestPrincipal;
let site: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team('Payments');
  owner = await api.identities.user({ [team]: 'owner' });
  admin = await api.identities.user({ [team]: 'admin' });
  site = await api.identities.administrator();
});
afterAll(() => api.close());

const call = async (status: number, line: string, { token }: TestPrincipal, body?: object) =>
  (await api.request(status, line, { token, ...(body && { body }) })).body;

/** Access changes when the announcement has reached the process. */
const untilStatus = (status: number, line: string, token: string, headers = {}): Promise<unknown> =>
  until(
    async () => (await requestAnyStatus(api, line, { token, headers })).status === status,
    5_000,
    `status ${status}`,
  );

describe('the current principal', () => {
  it('has teams with names, roles and permissions', async () => {
    const viewer = await api.identities.user({ [team]: 'viewer' }, 'Vera');
    expect(await call(200, 'GET /me', viewer)).toEqual({
      type: 'user',
      uid: viewer.uid,
      display_name: 'Vera',
      email: `${viewer.uid}@example.test`,
      is_administrator: false,
      memberships: [
        {
          team_uid: team,
          team_name: 'Payments',
          role: 'viewer',
          permissions: expect.arrayContaining(['runs:read', 'members:read']),
        },
      ],
    });
    const { permissions } = (await call(200, 'GET /me', viewer)).memberships[0];
    for (const permission of ['runs:write', 'audit_log:read', 'installation:manage'])
      expect(permissions).not.toContain(permission);
    expect((await call(200, 'GET /me', owner)).memberships[0].permissions).not.toContain('installation:manage');
    expect(await call(200, 'GET /me', site)).toMatchObject({ is_administrator: true, memberships: [] });
    expect(await call(200, 'GET /me', await api.identities.serviceAccount(team))).toMatchObject({
      type: 'service_account',
      memberships: [{ role: 'member' }],
    });
  });
});

describe('users', () => {
  it('are created, found, renamed, and disabled with their tokens', async () => {
    // With a dot: the addresses of other users are random letters and digits, which may contain any short text.
    const ada = await call(201, 'POST /users', site, { email: 'Ada.User@example.test' });
    expect(ada).toMatchObject({
      email: 'Ada.User@example.test',
      display_name: 'Ada.User@example.test',
      is_administrator: false,
      memberships: [],
    });
    const taken = await api.request(409, 'POST /users', {
      token: site.token,
      body: { email: 'ada.user@EXAMPLE.test' },
    });
    expect(taken.body).toMatchObject({ error_code: 'conflict' });
    for (const email of ['ada', '', 'a b@c', `${'a'.repeat(250)}@b.test`])
      expect(await call(400, 'POST /users', site, { email })).toMatchObject({ errors: [{ pointer: '/email' }] });
    expect((await call(200, 'GET /users?query=ADA.USER', site)).users).toMatchObject([{ uid: ada.uid }]);
    expect((await call(200, 'GET /users?query=%25', site)).users).toEqual([]);
    const token = await api.identities.token({ type: 'user', uid: ada.uid });
    const renamed = await call(200, `PUT /users/${ada.uid}`, site, { display_name: 'Ada', is_administrator: true });
    expect(renamed).toMatchObject({ display_name: 'Ada', is_administrator: true });
    expect(await call(200, `PUT /users/${ada.uid}`, site, { is_disabled: true })).toMatchObject({
      disabled_at: expect.any(String),
      display_name: 'Ada',
    });
    await api.request(401, 'GET /me', { token });
    expect(await call(200, `PUT /users/${ada.uid}`, site, { is_disabled: false })).not.toHaveProperty('disabled_at');
    await untilStatus(200, 'GET /me', token);
    await call(200, `PUT /users/${ada.uid}`, site, { is_administrator: false });
    expect(await call(400, `PUT /users/${ada.uid}`, site, {})).toMatchObject({ error_code: 'invalid_request' });
    expect(await call(200, `GET /users/${ada.uid}`, site)).toMatchObject({ uid: ada.uid });
  });

  it('include one administrator who is not disabled', async () => {
    const other = await api.identities.administrator();
    await call(200, `PUT /users/${other.uid}`, other, { is_administrator: false });
    for (const body of [{ is_administrator: false }, { is_disabled: true }])
      expect(await call(409, `PUT /users/${site.uid}`, site, body)).toMatchObject({ error_code: 'conflict' });
    const [first, second] = [await api.identities.administrator(), await api.identities.administrator()];
    await call(200, `PUT /users/${site.uid}`, first, { is_administrator: false });
    const results = await Promise.all(
      [first, second].map(({ uid }, index) =>
        fetch(`${api.url}/api/v1/users/${uid}`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${[second, first][index]?.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ is_administrator: false }),
        }),
      ),
    );
    // The second one is not an administrator any more, or the last one.
    expect(results.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    await api.database.query('UPDATE headrace.users SET is_administrator = uid = $1', [site.uid]);
  });

  it('are listed in pages', async () => {
    const emails: string[] = [];
    for (let cursor = ''; ;) {
      const page = await call(200, `GET /users?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`, site);
      emails.push(...page.users.map(({ email }: { email: string }) => email));
      if (!page.page_info.has_next_page) break;
      cursor = page.page_info.next_cursor;
    }
    expect(emails.length).toBeGreaterThan(5);
    expect(emails).toEqual([...new Set(emails)].toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
    expect(await call(400, 'GET /users?cursor=nonsense', site)).toMatchObject({ errors: [{ pointer: '/cursor' }] });
  });
});

describe('teams', () => {
  it('are created with an owner, listed and changed', async () => {
    const lead = await api.identities.user({ [team]: 'admin' });
    const created = await call(201, 'POST /teams', site, {
      name: 'Search',
      owner_uid: lead.uid,
      max_concurrent_runs: 3,
    });
    expect(created).toMatchObject({ name: 'Search', max_concurrent_runs: 3, default_model_id: null });
    expect((await call(200, 'GET /teams', lead)).teams.map(({ name }: { name: string }) => name)).toEqual([
      'Payments',
      'Search',
    ]);
    expect((await call(200, 'GET /teams', owner)).teams).toMatchObject([{ uid: team }]);
    expect((await call(200, 'GET /teams?all=true', site)).teams.length).toBeGreaterThanOrEqual(2);
    await call(403, 'GET /teams?all=true', owner);
    const changes = { name: 'Find', default_model_id: 'm', features: { schedules: false } };
    expect(await call(200, `PUT /teams/${created.uid}`, lead, changes)).toMatchObject({
      name: 'Find',
      default_model_id: 'm',
      max_concurrent_runs: 3,
      features: { schedules: false, metadata_filter: true },
    });
    expect(await call(200, `PUT /teams/${created.uid}`, lead, { default_model_id: null })).toMatchObject({
      default_model_id: null,
    });
    expect((await call(403, `PUT /teams/${created.uid}`, lead, { max_concurrent_runs: 100 })).detail).toContain(
      'max_concurrent_runs',
    );
    expect(await call(200, `PUT /teams/${created.uid}`, site, { max_concurrent_runs: null })).toMatchObject({
      max_concurrent_runs: null,
    });
    expect(await call(400, 'POST /teams', site, { name: ' ' })).toMatchObject({ errors: [{ pointer: '/name' }] });
    expect(await call(400, 'POST /teams', site, { name: 'x', owner_uid: 'a'.repeat(22) })).toMatchObject({
      errors: [{ pointer: '/owner_uid' }],
    });
  });
});

describe('members', () => {
  it('are added by administrators of the installation, changed and removed', async () => {
    const user = await api.identities.user({}, 'Grace');
    const refused = await call(404, `PUT /members/${user.uid}`, owner, { role: 'viewer' });
    expect(refused.detail).toContain('Invite the user');
    const add = { token: site.token, headers: inTeam(team), body: { role: 'viewer' } };
    expect((await api.request(200, `PUT /members/${user.uid}`, add)).body).toEqual({ team_uid: team, role: 'viewer' });
    await call(200, `PUT /members/${user.uid}`, admin, { role: 'member' });
    const { members } = await call(200, 'GET /members', admin);
    expect(members.find(({ uid }: { uid: string }) => uid === user.uid)).toMatchObject({
      role: 'member',
      display_name: 'Grace',
    });
    await untilStatus(200, 'GET /members', user.token, inTeam(team));
    await call(204, `DELETE /members/${user.uid}`, admin);
    await untilStatus(403, 'GET /members', user.token, inTeam(team));
    await call(404, `DELETE /members/${user.uid}`, admin);
    expect(await call(400, `PUT /members/${user.uid}`, admin, { role: 'king' })).toMatchObject({
      errors: [{ pointer: '/role' }],
    });
  });

  it('leave a team, except for its last owner', async () => {
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const other = await api.identities.user({ [team]: 'viewer' });
    const bot = await api.identities.serviceAccount(team);
    await call(403, `DELETE /members/${other.uid}`, viewer);
    await call(403, `DELETE /members/${other.uid}`, bot);
    await call(403, `DELETE /members/${bot.uid}`, bot);
    await call(204, `DELETE /members/${viewer.uid}`, viewer);
    await untilStatus(403, 'GET /members', viewer.token, inTeam(team));
    await call(409, `DELETE /members/${owner.uid}`, owner);
  });

  /** Removes an owner of the team, and disables an administrator, while requests wait that they have sent before. */
  async function statusesDuringRemoval(
    requests: (removed: {
      leaving: TestPrincipal;
      fallen: TestPrincipal;
    }) => readonly [TestPrincipal, string, object?][],
  ): Promise<number[]> {
    const leaving = await api.identities.user({ [team]: 'owner' });
    const fallen = await api.identities.administrator();
    const removal = new pg.Client({ connectionString: api.database.url });
    await removal.connect();
    try {
      await removal.query('BEGIN');
      await removal.query('SELECT 1 FROM headrace.teams WHERE uid = $1 FOR UPDATE', [team]);
      await removal.query('SELECT 1 FROM headrace.users WHERE uid = $1 FOR UPDATE', [leaving.uid]);
      await removal.query('DELETE FROM headrace.memberships WHERE user_uid = $1', [leaving.uid]);
      await removal.query('UPDATE headrace.users SET disabled_at = headrace.now() WHERE uid = $1', [fallen.uid]);
      const sent = requests({ leaving, fallen }).map(([{ token }, line, body]) =>
        requestAnyStatus(api, line, { token, ...(body && { body }) }),
      );
      await untilWaiting(api, sent.length);
      await removal.query('COMMIT');
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      const memberships = 'SELECT 1 FROM headrace.memberships WHERE user_uid = $1';
      expect(await api.database.query(memberships, [leaving.uid])).toEqual([]);
      expect(await call(200, `GET /users/${fallen.uid}`, site)).toMatchObject({ disabled_at: expect.any(String) });
      return statuses;
    } finally {
      await removal.end();
    }
  }

  it('and administrators do not undo their removal by a request that was sent before', async () => {
    const statuses = await statusesDuringRemoval(({ leaving, fallen }) => [
      [leaving, `PUT /members/${leaving.uid}`, { role: 'owner' }],
      [leaving, `DELETE /members/${owner.uid}`],
      [fallen, `PUT /users/${fallen.uid}`, { is_disabled: false }],
    ]);
    expect(statuses).toEqual([403, 403, 403]);
  });

  it('and administrators create no access for later by a request that was sent before their removal', async () => {
    const bot = await api.identities.serviceAccount(team);
    const statuses = await statusesDuringRemoval(({ leaving, fallen }) => [
      [fallen, 'POST /login-links', { user_uid: site.uid }],
      [fallen, 'POST /users', { email: 'back@example.test', is_administrator: true }],
      [leaving, 'POST /tokens', { name: 'kept', service_account_uid: bot.uid }],
      [leaving, 'POST /invitations', { email: 'friend@example.test', role: 'admin' }],
    ]);
    expect(statuses).toEqual([404, 403, 404, 403]);
  });

  it('become and stop being owners by owners only, and the last owner stays', async () => {
    const user = await api.identities.user({ [team]: 'member' });
    await call(403, `PUT /members/${user.uid}`, admin, { role: 'owner' });
    await call(403, `PUT /members/${owner.uid}`, admin, { role: 'viewer' });
    await call(403, `DELETE /members/${owner.uid}`, admin);
    await call(409, `DELETE /members/${owner.uid}`, owner);
    await call(409, `PUT /members/${owner.uid}`, owner, { role: 'admin' });
    await call(200, `PUT /members/${user.uid}`, owner, { role: 'owner' });
    await call(200, `PUT /members/${user.uid}`, owner, { role: 'viewer' });
  });
});

describe('service accounts and tokens', () => {
  it('authenticate until they are revoked or deleted', async () => {
    const account = await call(201, 'POST /service-accounts', admin, { name: 'pipeline' });
    expect(account).toMatchObject({ name: 'pipeline', is_agent_identity: false });
    const body = { name: 'ci', service_account_uid: account.uid };
    const created = await call(201, 'POST /tokens', admin, body);
    expect(created).toMatchObject({
      name: 'ci',
      owner: { type: 'service_account', uid: account.uid },
      token: expect.stringMatching(/^hr_/),
    });
    const bot = { type: 'service_account', uid: account.uid, token: created.token } as const;
    expect(await call(200, 'GET /me', bot)).toMatchObject({ uid: account.uid });
    await call(403, 'POST /tokens', bot, { name: 'more' });
    const { tokens } = await call(200, `GET /tokens?service_account_uid=${account.uid}`, admin);
    expect(tokens).toMatchObject([{ uid: created.uid, prefix: expect.stringMatching(/^hr_....…$/) }]);
    expect(JSON.stringify(tokens)).not.toContain(created.token);
    await call(204, `DELETE /tokens/${created.uid}`, admin);
    await api.request(401, 'GET /me', { token: created.token });
    expect((await call(200, `GET /tokens?service_account_uid=${account.uid}`, admin)).tokens).toEqual([]);
    const { token } = await call(201, 'POST /tokens', admin, body);
    expect((await call(200, 'GET /service-accounts', admin)).service_accounts).toContainEqual(
      expect.objectContaining({ uid: account.uid }),
    );
    await call(204, `DELETE /service-accounts/${account.uid}`, admin);
    await api.request(401, 'GET /me', { token });
    await call(404, `DELETE /service-accounts/${account.uid}`, admin);
    await call(403, 'POST /tokens', admin, body);
  });

  it('expire, and have valid fields', async () => {
    const past = await call(400, 'POST /tokens', owner, { name: 'old', expires_at: '2020-01-01T00:00:00Z' });
    expect(past).toMatchObject({ errors: [{ pointer: '/expires_at' }] });
    const { token } = await call(201, 'POST /tokens', owner, {
      name: 'short',
      expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
    });
    await api.request(200, 'GET /me', { token });
    expect(await call(400, 'POST /tokens', owner, { name: '' })).toMatchObject({ errors: [{ pointer: '/name' }] });
    expect(await call(400, `GET /tokens?user_uid=${owner.uid}&service_account_uid=${owner.uid}`, site)).toMatchObject({
      errors: [{ pointer: '/user_uid' }],
    });
  });

  it('of an agent identity are deleted with the identity', async () => {
    const identity = await call(201, 'POST /agent/identities', admin, { name: 'reviewer' });
    await call(201, 'POST /tokens', admin, { name: 'agent', service_account_uid: identity.uid });
    expect(await call(409, `DELETE /service-accounts/${identity.uid}`, admin)).toMatchObject({
      error_code: 'conflict',
    });
  });
});

describe('a token that is revoked while its request is sent', () => {
  it.each([
    ['token', '/tokens', { name: 'kept' }],
    ['run', '/agent/runs', { prompt: 'Go.' }],
    ['external run', '/agent/runs/external', { prompt: 'Go.' }],
  ])('creates no %s', async (_what, path, fields) => {
    const { token } = await api.identities.user({ [team]: 'member' }, 'Eve');
    const { tokens } = (await api.request(200, 'GET /tokens', { token })).body;
    const body = JSON.stringify(fields);
    const slow = request(`${api.url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    });
    const response = once(slow, 'response') as Promise<[IncomingMessage]>;
    slow.write(body.slice(0, 5));
    await call(204, `DELETE /tokens/${tokens[0].uid}`, site);
    await api.request(401, 'GET /me', { token });
    slow.end(body.slice(5));
    const [answer] = await response;
    answer.resume();
    expect(answer.statusCode).toBe(401);
  });
});

describe('tokens of a principal', () => {
  it('are at most 100 that are valid, also with concurrent requests', async () => {
    const user = await api.identities.user({ [team]: 'admin' });
    await api.database.query(
      `INSERT INTO headrace.tokens (uid, hash, prefix, name, user_uid)
       SELECT lpad(n::text, 22, 'z'), sha256(convert_to(n::text, 'UTF8')), 'hr_', 'x', $1 FROM generate_series(1, 97) n`,
      [user.uid],
    );
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const request = { token: user.token, body: { name: `t${index}` } };
        return (await requestAnyStatus(api, 'POST /tokens', request)).status;
      }),
    );
    // One is the token of the requests.
    expect(statuses.filter((status) => status === 201)).toHaveLength(2);
    expect(await call(403, 'POST /tokens', user, { name: 'more' })).toMatchObject({ error_code: 'limit_reached' });
    await api.database.query(`UPDATE headrace.tokens SET revoked_at = now() WHERE uid = lpad('1', 22, 'z')`);
    await call(201, 'POST /tokens', user, { name: 'more' });
  });
});

describe('administrators of the installation', () => {
  it('manage the members of teams that they are not on, and nothing else of them', async () => {
    const lost = await api.identities.team('Lost');
    const member = await api.identities.user({ [lost]: 'viewer' });
    const send = (status: number, line: string, body?: object) =>
      api.request(status, line, { token: site.token, headers: inTeam(lost), ...(body && { body }) });
    await send(200, `PUT /members/${member.uid}`, { role: 'owner' });
    expect((await send(200, 'GET /members')).body.members).toMatchObject([{ uid: member.uid, role: 'owner' }]);
    const { body } = await send(201, 'POST /invitations', { email: 'new@example.test', role: 'owner' });
    await send(204, `DELETE /invitations/${body.uid}`);
    await send(403, 'GET /service-accounts');
    await send(403, 'GET /agent/runs');
    await send(403, 'GET /audit-log');
    const unknown = { token: site.token, headers: inTeam('0'.repeat(22)) };
    await api.request(404, `PUT /members/${member.uid}`, { ...unknown, body: { role: 'viewer' } });
    await api.request(404, 'POST /invitations', { ...unknown, body: { email: 'a@b.test', role: 'viewer' } });
    const log = await api.request(200, 'GET /audit-log', { token: member.token });
    expect(log.body.entries.map(({ action }: { action: string }) => action)).toContain('member.updated');
  });
});

// The last ones of the file: no announcement arrives from here on.
describe('while the process receives no announcements', () => {
  beforeAll(() => api.app.get(DatabaseListener).onModuleDestroy());

  it('rejects a token at once when it has revoked it, deleted its service account or disabled its user', async () => {
    const [one, two] = await Promise.all([api.identities.user({}, 'Fay'), api.identities.user({}, 'Gil')]);
    const account = await call(201, 'POST /service-accounts', admin, { name: 'deployments' });
    const bot = await call(201, 'POST /tokens', admin, { name: 'cd', service_account_uid: account.uid });
    const { tokens } = await call(200, 'GET /tokens', one);
    for (const { token } of [one, two, bot]) await api.request(200, 'GET /me', { token });
    await call(204, `DELETE /tokens/${tokens[0].uid}`, one);
    await call(204, `DELETE /service-accounts/${account.uid}`, admin);
    await call(200, `PUT /users/${two.uid}`, site, { is_disabled: true });
    for (const { token } of [one, two, bot]) await api.request(401, 'GET /me', { token });
  });
});
