import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EnvironmentDirectory } from '#domain/environments';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { requestAnyStatus } from '../../support/api-requests.js';

const CONFIG = {
  name: 'node-service',
  description: null,
  docker_image: 'node:22',
  github_repos: [{ owner: 'acme', repo: 'service' }],
  git_repos: [{ url: 'https://git.example.test/a.git', ref: 'main' }],
  setup_commands: ['npm ci', 'npm run build'],
  env: { TOKEN: 'swordfish', EMPTY: '' },
  secrets: [{ name: 'deploy-key' }],
  failure_session_retention_minutes: 30,
  providers: { aws: { role_arn: 'arn:aws:iam::1:role/x' }, gcp: { any: ['thing'] } },
};
const MASKED = { ...CONFIG, env: { TOKEN: '***', EMPTY: '***' } };

let api: TestApi;
let team: string;
let admin: TestPrincipal;
let stranger: TestPrincipal;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  admin = await api.identities.user({ [team]: 'admin' }, 'Grace');
  stranger = await api.identities.user({ [await api.identities.team()]: 'owner' });
  await api.request(200, 'PUT /secrets/deploy-key', { token: admin.token, body: { value: 'a key of the team' } });
});
afterAll(() => api.close());

async function make(config: object, token = admin.token): Promise<string> {
  const { body } = await api.request(201, 'POST /environments', { token, body: { config } });
  return body.uid;
}

describe('createEnvironment', () => {
  it('stores all fields and masks values of env', async () => {
    const { body } = await api.request(201, 'POST /environments', { token: admin.token, body: { config: CONFIG } });
    const by = { type: 'user', uid: admin.uid, display_name: 'Grace', email: `${admin.uid}@example.test` };
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      config: MASKED,
      last_updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      setup_failed: false,
      scope: { type: 'Team', uid: team },
      creator: by,
      last_editor: by,
    });
    expect((await api.app.get(EnvironmentDirectory).find(body.uid))?.config).toEqual(CONFIG);
  });

  it('rejects a user with several teams and no chosen team with 400', async () => {
    const other = await api.identities.team();
    const { token } = await api.identities.user({ [team]: 'admin', [other]: 'admin' });
    await api.request(201, 'POST /environments', { token, body: { config: {} } });
    const { body } = await api.request(400, 'POST /environments', { token, body: { config: {}, team: true } });
    expect(body.errors).toEqual([{ pointer: '/team', detail: 'requires the team header' }]);
    await api.request(201, 'POST /environments', {
      token,
      headers: { 'X-Headrace-Team-Uid': other },
      body: { config: {} },
    });
  });

  it('rejects a configuration of more than 262,144 bytes, unless one of an earlier version does not become larger', async () => {
    const ofSize = (bytes: number) => {
      const config = { setup_commands: [''] };
      // A command has two quotation marks, a comma and a space.
      config.setup_commands = Array.from({ length: 10 }, () => 'é'.repeat(bytes / 20 - 2));
      return config;
    };
    const uid = await make(ofSize(262_000));
    const create = async (config: object) =>
      (await api.request(400, 'POST /environments', { token: admin.token, body: { config } })).body;
    const body = await create(ofSize(262_200));
    const errors = [{ pointer: '/config', detail: 'must not exceed 262144 bytes as JSON' }];
    expect(body.errors).toEqual(errors);
    // PostgreSQL writes numbers without exponents.
    const many = Array.from({ length: 1_000 }, () => 1e308);
    expect((await create({ providers: { gcp: { many } } })).errors).toEqual(errors);
    const put = async (status: number, bytes: number) =>
      api.request(status, `PUT /environments/${uid}`, { token: admin.token, body: { config: ofSize(bytes) } });
    expect((await put(400, 300_000)).body.errors).toEqual(errors);
    await api.database.query('UPDATE headrace.environments SET config = $2 WHERE uid = $1', [
      uid,
      JSON.stringify(ofSize(300_000)),
    ]);
    await put(200, 300_000);
    await put(400, 300_100);
  });

  it('rejects the 1,001st environment of a team or person with 403 limit_reached, also for concurrent requests', async () => {
    const owner = await api.identities.user({ [await api.identities.team()]: 'admin' });
    const [membership] = (await api.request(200, 'GET /me', { token: owner.token })).body.memberships;
    await api.database.query(
      `INSERT INTO headrace.environments (uid, team_uid, owner_user_uid, config, creator_type, creator_uid, editor_type, editor_uid)
       SELECT part || lpad(to_hex(n), 21, '0'), CASE part WHEN '8' THEN $1 END, CASE part WHEN '9' THEN $2 END, '{}', 'user', $2, 'user', $2
         FROM generate_series(1, 999) n, unnest('{8,9}'::text[]) part`,
      [membership.team_uid, owner.uid],
    );
    for (const team of [true, false]) {
      const results = await Promise.all(
        Array.from({ length: 3 }, () =>
          requestAnyStatus(api, 'POST /environments', { token: owner.token, body: { config: {}, team } }),
        ),
      );
      expect(results.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
      expect(results.find(({ status }) => status === 403)?.body).toMatchObject({ error_code: 'limit_reached' });
    }
    const { body } = await api.request(200, 'GET /agent/environments', { token: owner.token });
    expect(body.environments).toHaveLength(1_000);
  });

  it.each([
    [{ env: { '1A': 'x' } }, '/config/env/1A'],
    [{ git_repos: [{ url: '/etc' }] }, '/config/git_repos/0/url'],
    [{ git_repos: [{ url: 'file:///etc' }] }, '/config/git_repos/0/url'],
    [{ github_repos: [{ owner: 'a/b', repo: 'c' }] }, '/config/github_repos/0/owner'],
    [{ setup_commands: [' '] }, '/config/setup_commands/0'],
    [{ failure_session_retention_minutes: 0 }, '/config/failure_session_retention_minutes'],
    [{ failure_session_retention_minutes: 1.5 }, '/config/failure_session_retention_minutes'],
  ])('400: %j', async (config, pointer) => {
    const { body } = await api.request(400, 'POST /environments', { token: admin.token, body: { config } });
    expect(body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
  });
});

describe('getEnvironment', () => {
  it('returns the environment, 403 without access, and 404 for an unknown uid', async () => {
    const uid = await make(CONFIG);
    const viewer = await api.identities.user({ [team]: 'viewer' });
    const { body } = await api.request(200, `GET /environments/${uid}`, { token: viewer.token });
    expect(body.config).toEqual(MASKED);
    await api.request(403, `GET /environments/${uid}`, { token: stranger.token });
    await api.request(404, `GET /environments/${'0'.repeat(22)}`, { token: admin.token });
    await api.request(400, 'GET /environments/%20', { token: admin.token });
  });

  it('returns a personal environment to its owner only', async () => {
    const { body } = await api.request(201, 'POST /environments', {
      token: admin.token,
      body: { config: {}, team: false },
    });
    expect(body.scope).toEqual({ type: 'User', uid: admin.uid });
    const owner = await api.identities.user({ [team]: 'owner' });
    await api.request(200, `GET /environments/${body.uid}`, { token: admin.token });
    await api.request(403, `GET /environments/${body.uid}`, { token: owner.token });
  });
});

describe('updateEnvironment', () => {
  it('replaces the configuration, stores who updated it and when, and keeps values that are sent as ***', async () => {
    const uid = await make({ ...CONFIG, env: { KEPT: 'swordfish', GONE: 'x', CHANGED: 'old' } });
    const editor = await api.identities.user({ [team]: 'owner' }, 'Edith');
    await api.advanceClock(60_000);
    const config = { name: 'other', env: { KEPT: '***', CHANGED: 'new', ADDED: '' } };
    const { body } = await api.request(200, `PUT /environments/${uid}`, { token: editor.token, body: { config } });
    expect(body.config).toEqual({ name: 'other', env: { KEPT: '***', CHANGED: '***', ADDED: '***' } });
    expect(body).toMatchObject({ uid, creator: { uid: admin.uid }, last_editor: { uid: editor.uid } });
    const before = await api.request(200, `GET /environments/${await make({})}`, { token: admin.token });
    expect(Date.parse(body.last_updated)).toBeLessThanOrEqual(Date.parse(before.body.last_updated));
    expect(Date.parse(body.last_updated)).toBeGreaterThan(Date.parse(before.body.last_updated) - 30_000);
    const { body: read } = await api.request(200, `GET /environments/${uid}`, { token: admin.token });
    expect(read).toEqual(body);
    const stored = await api.app.get(EnvironmentDirectory).find(uid);
    expect(stored?.config).toEqual({ name: 'other', env: { KEPT: 'swordfish', CHANGED: 'new', ADDED: '' } });
  });

  it('moves the environment to the top of the list by last update', async () => {
    const { token } = await api.identities.user({}, 'Alone');
    const [first, second] = [await make({ name: 'a' }, token), await make({ name: 'b' }, token)];
    await api.advanceClock(1000);
    await api.request(200, `PUT /environments/${first}`, { token, body: { config: { name: 'a' } } });
    const { body } = await api.request(200, 'GET /agent/environments', { token });
    expect(body.environments.map(({ uid }: { uid: string }) => uid)).toEqual([first, second]);
  });

  it('keeps both of two concurrent updates', async () => {
    const uid = await make({ env: { A: 'a', B: 'b' } });
    const change = (env: object) =>
      api.request(200, `PUT /environments/${uid}`, { token: admin.token, body: { config: { env } } });
    await Promise.all([change({ A: '1', B: '***' }), change({ A: '***', B: '2' })]);
    const stored = await api.app.get(EnvironmentDirectory).find(uid);
    expect([
      { A: '1', B: '2' },
      { A: 'a', B: '2' },
      { A: '1', B: 'b' },
    ]).toContainEqual(stored?.config.env);
  });

  it('rejects invalid fields with 400 and their names', async () => {
    const uid = await make({ env: { KNOWN: 'x' } });
    const put = (status: number, body: unknown) =>
      api.request(status, `PUT /environments/${uid}`, { token: admin.token, body });
    const { body } = await put(400, { config: { env: { KNOWN: '***', TYPO: '***' } } });
    expect(body.errors).toEqual([
      { pointer: '/config/env/TYPO', detail: 'must be sent in clear: *** keeps a stored value, and none is stored' },
    ]);
    expect((await put(400, {})).body.errors).toEqual([{ pointer: '/config', detail: 'is required' }]);
    expect((await put(400, { config: { setup_commands: 'npm ci' } })).body.errors).toEqual([
      { pointer: '/config/setup_commands', detail: 'must be an array' },
    ]);
    const made = await api.request(400, 'POST /environments', {
      token: admin.token,
      body: { config: { env: { A: '***' } } },
    });
    expect(made.body.errors[0].pointer).toBe('/config/env/A');
    await api.request(413, `PUT /environments/${uid}`, {
      token: admin.token,
      contentType: 'application/json',
      body: JSON.stringify({ config: { name: 'x'.repeat(2_200_000) } }),
    });
    await api.request(415, `PUT /environments/${uid}`, { token: admin.token, contentType: 'text/plain', body: 'x' });
  });

  it('rejects a member and another team with 403, an unknown uid with 404, and a blank one with 400', async () => {
    const uid = await make({});
    const member = await api.identities.user({ [team]: 'member' });
    const put = (status: number, id: string, token: string) =>
      api.request(status, `PUT /environments/${id}`, { token, body: { config: {} } });
    await put(403, uid, member.token);
    await put(403, uid, stranger.token);
    await put(404, '0'.repeat(22), admin.token);
    await put(400, '%20', admin.token);
  });
});

describe('deleteEnvironment', () => {
  it('deletes the environment with 204', async () => {
    const uid = await make({});
    const { text } = await api.request(204, `DELETE /environments/${uid}`, { token: admin.token });
    expect(text).toBe('');
    await api.request(404, `GET /environments/${uid}`, { token: admin.token });
    await api.request(404, `DELETE /environments/${uid}`, { token: admin.token });
  });

  it('rejects a member and another team with 403, and a blank uid with 400', async () => {
    const uid = await make({});
    const member = await api.identities.user({ [team]: 'member' });
    await api.request(403, `DELETE /environments/${uid}`, { token: member.token });
    await api.request(403, `DELETE /environments/${uid}`, { token: stranger.token });
    await api.request(400, 'DELETE /environments/%20', { token: admin.token });
    await api.request(200, `GET /environments/${uid}`, { token: admin.token });
  });
});

describe('listEnvironments', () => {
  it('sorts by the latest update by default, and by name on request', async () => {
    const own = await api.identities.team();
    const { token } = await api.identities.user({ [own]: 'owner' });
    for (const name of ['beta', 'Alpha', 'gamma']) {
      await make({ name }, token);
      await api.advanceClock(1000);
    }
    const names = async (query: string): Promise<string[]> => {
      const { body } = await api.request(200, `GET /agent/environments${query}`, { token });
      return body.environments.map(({ config }: { config: { name: string } }) => config.name);
    };
    expect(await names('')).toEqual(['gamma', 'Alpha', 'beta']);
    expect(await names('?sort_by=last_updated')).toEqual(['gamma', 'Alpha', 'beta']);
    expect(await names('?sort_by=name')).toEqual(['Alpha', 'beta', 'gamma']);
  });

  it('returns that the last set-up failed until one succeeds', async () => {
    const uid = await make({ name: 'fragile' });
    const shown = async (): Promise<unknown> =>
      (await api.request(200, `GET /environments/${uid}`, { token: admin.token })).body.setup_failed;
    await api.app.get(EnvironmentDirectory).noteSetup(uid, true);
    expect(await shown()).toBe(true);
    await api.app.get(EnvironmentDirectory).noteSetup(uid, false);
    expect(await shown()).toBe(false);
  });
});
