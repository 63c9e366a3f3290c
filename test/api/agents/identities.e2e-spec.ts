import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentDirectory } from '#domain/agents';
import { PrincipalDirectory } from '#platform/auth';
import { newUid } from '#platform/kernel';
import { startTestApi, type TestApi, TestRunner } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam, OVERSIZED_BODY, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

const PATH = '/agent/identities';
let api: TestApi;
let fixture: ApiFixture;
let environment: string;
let server: string;

const FULL = () => ({
  description: 'Reads what others wrote',
  prompt: 'You review.',
  environment_id: environment,
  default_runner_uid: 'runner-1',
  worker_host: 'warp',
  base_model: 'some-model',
  harness: { type: 'oz', model_id: 'm', reasoning_level: 'high' },
  skills: ['acme/tools:review', ':.agents/skills/x'],
  secrets: [],
  mcp_servers: {
    issues: { warp_id: server },
    local: { command: 'serve', args: ['--x'], env: { TOKEN: 'swordfish-env', '': 'swordfish-blank' } },
    'a/b~c': { url: 'https://mcp.example.test/', headers: { Authorization: 'Bearer swordfish-header' } },
  },
  memory: { auto_memory: { enabled: true } },
});

beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
  const { token } = fixture.admin;
  environment = (await api.request(201, 'POST /environments', { token, body: { config: {} } })).body.uid;
  const registered = { name: 'issues', url: 'https://issues.example.test/mcp' };
  server = (await api.request(201, 'POST /mcp-servers', { token, body: registered })).body.uid;
});
afterAll(() => api.close());

let made = 0;
async function make(fields: object = {}, token = fixture.admin.token) {
  made += 1;
  return (await api.request(201, `POST ${PATH}`, { token, body: { name: `agent-${made}`, ...fields } })).body;
}
const put = (uid: string, body: object, status = 200) =>
  api.request(status, `PUT ${PATH}/${uid}`, { token: fixture.admin.token, body });

describe('createAgentIdentity', () => {
  it('stores all fields and returns env and headers masked', async () => {
    const body = await make({ name: 'full', ...FULL() });
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: 'full',
      ...FULL(),
      available: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      updated_at: body.created_at,
      mcp_servers: {
        issues: { warp_id: server },
        local: { command: 'serve', args: ['--x'], env: { TOKEN: '***', '': '***' } },
        'a/b~c': { url: 'https://mcp.example.test/', headers: { Authorization: '***' } },
      },
      memory: { auto_memory: { enabled: true }, attached_stores: [] },
    });
    const { body: shown } = await api.request(200, `GET ${PATH}/${body.uid}`, { token: fixture.viewer.token });
    expect(shown).toEqual(body);
  });

  it('accepts a name alone, and omits fields without a value', async () => {
    expect(await make({ name: 'bare', prompt: null, environment_id: '', skills: [], mcp_servers: {} })).toEqual({
      uid: expect.any(String),
      name: 'bare',
      available: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      default_runner_uid: '',
      skills: [],
      secrets: [],
      memory: { auto_memory: { enabled: false }, attached_stores: [] },
    });
  });

  it('stores secrets encrypted, and decrypts them for runs of that team only', async () => {
    const { uid } = await make(FULL());
    const [row] = await api.database.query<{ text: string }>(
      'SELECT row_to_json(i)::text AS text FROM headrace.agent_identities i WHERE uid = $1',
      [uid],
    );
    expect(row?.text).toContain('mcp.example.test');
    expect(row?.text).not.toContain('swordfish');
    const directory = api.app.get(AgentDirectory);
    expect(await directory.findIdentity(uid, fixture.team)).toMatchObject({
      uid,
      teamUid: fixture.team,
      prompt: 'You review.',
      environmentId: environment,
      mcpServers: FULL().mcp_servers,
      available: true,
    });
    expect(await directory.findIdentity(uid, fixture.otherTeam)).toBeNull();
    expect(await directory.findIdentity('nonsense', fixture.team)).toBeNull();
  });

  it('does not decrypt a value that was copied to another identity', async () => {
    const [from, to] = [await make(FULL()), await make()];
    await api.database.query(
      `UPDATE headrace.agent_identities SET mcp_servers =
         (SELECT mcp_servers FROM headrace.agent_identities WHERE uid = $1) WHERE uid = $2`,
      [from.uid, to.uid],
    );
    await expect(api.app.get(AgentDirectory).findIdentity(to.uid, fixture.team)).rejects.toThrow('does not open');
    await put(to.uid, { mcp_servers: {} });
  });

  it.each([
    [{ name: ' ' }, ['/name']],
    [{ name: 'x'.repeat(201) }, ['/name']],
    [{ nonsense: 1 }, ['/nonsense']],
    [{ environment_id: 'short' }, ['/environment_id']],
    [{ skills: [' '] }, ['/skills/0']],
    [{ worker_host: 'WARP' }, ['/worker_host']],
    [{ worker_host: 'warp-1' }, ['/worker_host']],
    [{ worker_host: ' ' }, ['/worker_host']],
    [{ harness: { kind: 'oz' } }, ['/harness/kind']],
    [{ memory: { attached_stores: ['x'] } }, ['/memory/attached_stores']],
    [{ mcp_servers: { a: {} } }, ['/mcp_servers/a']],
    [{ mcp_servers: { 'a/b': { url: 'https://x.test', command: 'x' } } }, ['/mcp_servers/a~1b']],
    [{ mcp_servers: { a: { url: 'file:///etc' } } }, ['/mcp_servers/a/url']],
    [{ mcp_servers: { a: { command: 'x', env: { K: '***' } } } }, ['/mcp_servers/a/env/K']],
    [
      { mcp_servers: { a: { command: 'x', args: Array.from({ length: 9 }, () => 'x'.repeat(8000)) } } },
      ['/mcp_servers'],
    ],
  ])('400: %o', async (fields, pointers) => {
    const { body } = await api.request(400, `POST ${PATH}`, {
      token: fixture.admin.token,
      body: { name: 'wrong', ...fields },
    });
    expect(pointersOf(body)).toEqual(pointers);
    expect(body.error_code).toBe('invalid_request');
  });

  it('rejects a missing name, and one that exists in any case, with 400', async () => {
    const nameless = await api.request(400, `POST ${PATH}`, { token: fixture.admin.token, body: {} });
    expect(pointersOf(nameless.body)).toEqual(['/name']);
    await make({ name: 'Unique' });
    const { body } = await api.request(400, `POST ${PATH}`, { token: fixture.admin.token, body: { name: 'uniquE' } });
    expect(pointersOf(body)).toEqual(['/name']);
    expect(body.detail).toContain('`name`');
    await make({ name: 'Unique' }, fixture.stranger.token);
  });

  it('rejects a user with several teams and no chosen team with 400', async () => {
    const { token } = fixture.adminOfBoth;
    const { body } = await api.request(400, `POST ${PATH}`, { token, body: { name: 'where' } });
    expect(body.detail).toContain('X-Headrace-Team-Uid');
    await api.request(201, `POST ${PATH}`, { token, headers: inTeam(fixture.otherTeam), body: { name: 'where' } });
  });

  it('rejects references that do not exist or are not of the team with the same 403', async () => {
    const foreign = await api.request(201, 'POST /environments', {
      token: fixture.stranger.token,
      body: { config: {} },
    });
    const personal = await api.request(201, 'POST /environments', {
      token: fixture.admin.token,
      body: { config: {}, team: false },
    });
    const foreignServer = await api.request(201, 'POST /mcp-servers', {
      token: fixture.stranger.token,
      body: { name: 'theirs', command: 'x' },
    });
    const refused = async (fields: object) => {
      const options = { token: fixture.admin.token, body: { name: 'refused', ...fields } };
      const { body } = await api.request(403, `POST ${PATH}`, options);
      expect(body.error_code).toBe('not_authorized');
      return body.detail;
    };
    const details = await Promise.all(
      [UNKNOWN_UID, foreign.body.uid, personal.body.uid].map((uid) => refused({ environment_id: uid })),
    );
    expect(new Set(details).size).toBe(1);
    const servers = await Promise.all(
      [UNKNOWN_UID, foreignServer.body.uid, 'nonsense'].map((uid) => refused({ mcp_servers: { a: { warp_id: uid } } })),
    );
    expect(new Set(servers).size).toBe(1);
    await refused({ secrets: [{ name: 'deploy-key' }] });
  });

  it('rejects secrets with the same or a reserved variable with 400', async () => {
    const { token } = fixture.admin;
    for (const name of ['npm-token', 'npm.token', 'HOME'])
      await api.request(200, `PUT /secrets/${name}`, { token, body: { value: 'x' } });
    const make400 = async (names: readonly string[]) => {
      const body = { name: 'refused', secrets: names.map((name) => ({ name })) };
      return pointersOf((await api.request(400, `POST ${PATH}`, { token, body })).body);
    };
    expect(await make400(['npm-token', 'npm.token'])).toEqual(['/secrets/1/name']);
    expect(await make400(['HOME'])).toEqual(['/secrets/0/name']);
  });

  it('rejects a large body with 413, and another media type with 415', async () => {
    const { token } = fixture.admin;
    await api.request(413, `POST ${PATH}`, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(415, `POST ${PATH}`, { token, body: '{}', contentType: 'text/plain' });
  });

  it('rejects the 1,001st identity with 403 limit_reached, also for concurrent requests', async () => {
    const team = await api.identities.team();
    const { token } = await api.identities.user({ [team]: 'admin' });
    await api.database.query(
      `WITH accounts AS (
         INSERT INTO headrace.service_accounts (uid, team_uid, name)
         SELECT lpad(n::text, 22, 'L'), $1, 'a' || n FROM generate_series(1, 999) n RETURNING uid, team_uid, name)
       INSERT INTO headrace.agent_identities (uid, team_uid, name) SELECT uid, team_uid, name FROM accounts`,
      [team],
    );
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((name) =>
        fetch(`${api.url}/api/v1${PATH}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name }),
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
    const { body } = await api.request(403, `POST ${PATH}`, { token, body: { name: 'four' } });
    expect(body.error_code).toBe('limit_reached');
    const listed = await api.request(200, `GET ${PATH}`, { token });
    expect(listed.body.agents).toHaveLength(1000);
  });
});

describe('updateAgentIdentity', () => {
  it('keeps fields that are absent or null', async () => {
    const before = await make(FULL());
    await api.advanceClock(1000);
    const nothing = Object.fromEntries(Object.keys(before).map((key) => [key, null]));
    const { uid: _uid, created_at: _created, updated_at: _updated, ...nulls } = nothing;
    for (const changes of [{}, nulls]) {
      const { body } = await put(before.uid, changes);
      expect(body).toEqual({ ...before, updated_at: expect.any(String) });
      expect(body.updated_at > before.updated_at).toBe(true);
    }
    expect((await api.app.get(AgentDirectory).findIdentity(before.uid, fixture.team))?.mcpServers).toEqual(
      FULL().mcp_servers,
    );
  });

  it('clears fields that are empty', async () => {
    const before = await make(FULL());
    const { body } = await put(before.uid, {
      description: '',
      prompt: '',
      environment_id: '',
      default_runner_uid: '',
      worker_host: '',
      base_model: '',
      harness: {},
      skills: [],
      secrets: [],
      mcp_servers: {},
      memory: {},
    });
    const { uid, name, created_at } = before;
    expect(body).toEqual({
      ...{ uid, name, created_at, updated_at: expect.any(String), available: true },
      default_runner_uid: '',
      skills: [],
      secrets: [],
      memory: { auto_memory: { enabled: false }, attached_stores: [] },
    });
  });

  it('updates one field alone; the executor of its runs has the new name', async () => {
    const before = await make(FULL());
    const { body } = await put(before.uid, { name: 'renamed', available: false });
    expect(body).toEqual({ ...before, name: 'renamed', available: false, updated_at: expect.any(String) });
    const known = await api.app.get(PrincipalDirectory).describe([{ type: 'service_account', uid: before.uid }]);
    expect(known.get(before.uid)?.display_name).toBe('renamed');
    expect(await api.app.get(AgentDirectory).findIdentity(before.uid, fixture.team)).toMatchObject({
      available: false,
    });
    expect((await put(before.uid, { available: true })).body.available).toBe(true);
  });

  it('*** keeps a stored value of the same server, and of no other', async () => {
    const { uid } = await make(FULL());
    const opened = async () => (await api.app.get(AgentDirectory).findIdentity(uid, fixture.team))?.mcpServers;
    const url = 'https://mcp.example.test/';
    const headers = { Authorization: '***' };
    await put(uid, { mcp_servers: { 'a/b~c': { url, headers } } });
    expect(await opened()).toEqual({ 'a/b~c': { url, headers: { Authorization: 'Bearer swordfish-header' } } });
    for (const [servers, pointer] of [
      [
        { 'a/b~c': { url: 'https://elsewhere.test/', headers: { Authorization: '***' } } },
        'a~1b~0c/headers/Authorization',
      ],
      [{ other: { url, headers: { Authorization: '***' } } }, 'other/headers/Authorization'],
      [{ 'a/b~c': { url, headers: { Unknown: '***' } } }, 'a~1b~0c/headers/Unknown'],
      [{ 'a/b~c': { url, headers: { ...headers, Host: 'elsewhere.test' } } }, 'a~1b~0c/headers/Authorization'],
    ] as const) {
      const { body } = await put(uid, { mcp_servers: servers }, 400);
      expect(pointersOf(body)).toEqual([`/mcp_servers/${pointer}`]);
    }
    expect(Object.keys((await opened()) ?? {})).toEqual(['a/b~c']);
  });

  it('rejects invalid values, and the name of another identity, with 400', async () => {
    const [one, other] = [await make(), await make()];
    expect(pointersOf((await put(one.uid, { name: '' }, 400)).body)).toEqual(['/name']);
    expect(pointersOf((await put(one.uid, { uid: other.uid }, 400)).body)).toEqual(['/uid']);
    expect(pointersOf((await put(one.uid, { name: other.name }, 400)).body)).toEqual(['/name']);
    expect(pointersOf((await put(one.uid, { mcp_servers: { a: {} } }, 400)).body)).toEqual(['/mcp_servers/a']);
    await put('%20', {}, 400);
  });

  it('rejects unknown references with 403, an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const { uid } = await make();
    await put(uid, { environment_id: UNKNOWN_UID }, 403);
    await put(uid, { mcp_servers: { a: { warp_id: UNKNOWN_UID } } }, 403);
    await put(uid, { secrets: [{ name: 'x' }] }, 403);
    await put(UNKNOWN_UID, {}, 404);
    const { token } = fixture.admin;
    await api.request(413, `PUT ${PATH}/${uid}`, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(415, `PUT ${PATH}/${uid}`, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('secrets of an agent identity', () => {
  it('are variables of the runs that it executes, with current values, and override the environment', async () => {
    const { token } = fixture.admin;
    await api.request(200, 'PUT /secrets/deploy-key', { token, body: { value: 'first' } });
    const environment = (
      await api.request(201, 'POST /environments', {
        token,
        body: { config: { env: { deploy_key: 'plain', A: 'b' } } },
      })
    ).body;
    const identity = await make({ secrets: [{ name: 'deploy-key' }], environment_id: environment.uid });
    expect(identity.secrets).toEqual([{ name: 'deploy-key' }]);
    const create = async () =>
      (
        await api.request(200, 'POST /agent/runs', {
          token: fixture.member.token,
          body: { prompt: 'Go.', agent_identity_uid: identity.uid },
        })
      ).body.run_id as string;
    const runId = await create();
    await api.request(200, 'PUT /secrets/deploy-key', { token, body: { value: 'second' } });
    const { assignment } = await TestRunner.take(api, runId);
    expect(assignment.secrets).toEqual({ deploy_key: 'second' });
    const shown = await api.request(200, `GET /agent/runs/${runId}`, { token });
    expect(shown.text).not.toContain('second');

    expect((await put(identity.uid, { description: 'Deploys.' })).body.secrets).toEqual([{ name: 'deploy-key' }]);
    expect((await put(identity.uid, { secrets: [] })).body.secrets).toEqual([]);
    expect((await TestRunner.take(api, await create())).assignment.secrets).toEqual({});
  });

  it('that are deleted before the start of the run fail it with a message that names the secret', async () => {
    const { token } = fixture.admin;
    await api.request(200, 'PUT /secrets/passing', { token, body: { value: 'x' } });
    const { uid } = await make({ secrets: [{ name: 'passing' }] });
    const { body } = await api.request(200, 'POST /agent/runs/external', {
      token: fixture.member.token,
      body: { prompt: 'Go.', agent_identity_uid: uid },
    });
    await api.request(204, 'DELETE /secrets/passing', { token });
    await api.request(412, `POST /runner/v1/executions/${body.execution_id}/claim`, {
      token: body.token,
      body: { protocol_version: 1, instance_id: 'test' },
    });
    expect((await api.request(200, `GET /agent/runs/${body.run_id}`, { token })).body).toMatchObject({
      state: 'FAILED',
      status_message: {
        error_code: 'environment_setup_failed',
        message: expect.stringContaining('The managed secret passing, which the agent identity names'),
      },
    });
  });
});

describe('commits of a run', () => {
  const assignedTo = async (token: string, body: object) => {
    const { body: run } = await api.request(200, 'POST /agent/runs', { token, body: { prompt: 'Go.', ...body } });
    const { author, co_author } = (await TestRunner.take(api, run.run_id)).assignment.git ?? {};
    return { author, ...(co_author && { co_author }) };
  };

  it('have the identity as author, or the installation, and the user who created the run as co-author', async () => {
    const { team } = fixture;
    const ada = await api.identities.user({ [team]: 'member' }, 'Ada');
    const asked = { name: 'Ada', email: `${ada.uid}@example.test` };
    const email = 'noreply@127.0.0.1';
    const { uid, name } = await make();
    expect(await assignedTo(ada.token, {})).toEqual({ author: { name: 'Headrace', email }, co_author: asked });
    expect(await assignedTo(ada.token, { agent_identity_uid: uid })).toEqual({
      author: { name, email },
      co_author: asked,
    });
    const bot = await api.identities.serviceAccount(team);
    expect(await assignedTo(bot.token, {})).toEqual({ author: { name: 'Headrace', email } });
    // Somebody else may have this address.
    await api.database.query('UPDATE headrace.users SET is_email_verified = false WHERE uid = $1', [ada.uid]);
    expect(await assignedTo(ada.token, {})).toEqual({ author: { name: 'Headrace', email } });
  });
});

describe('listAgentIdentities with factory_uid', () => {
  it('returns only identities of the factory’s definition, and 400 for a malformed uid', async () => {
    const [ours, theirs] = [await make(), await make()];
    const factoryUid = newUid();
    await api.database.query('UPDATE headrace.agent_identities SET factory_uid = $2 WHERE uid = $1', [
      theirs.uid,
      factoryUid,
    ]);
    const uids = async (query: string) =>
      (await api.request(200, `GET ${PATH}${query}`, { token: fixture.viewer.token })).body.agents.map(
        ({ uid }: { uid: string }) => uid,
      );
    expect(await uids('')).toEqual(expect.arrayContaining([ours.uid, theirs.uid]));
    expect(await uids(`?factory_uid=${factoryUid}`)).toEqual([theirs.uid]);
    expect(await uids(`?factory_uid=${UNKNOWN_UID}`)).toEqual([]);
    const { body } = await api.request(400, `GET ${PATH}?factory_uid=x`, { token: fixture.viewer.token });
    expect(pointersOf(body)).toEqual(['/factory_uid']);
  });
});

describe('deleteAgentIdentity', () => {
  it('deletes with 204, ends the tokens, and keeps the name for history', async () => {
    const { uid } = await make({ name: 'short-lived' });
    const token = await api.identities.token({ type: 'service_account', uid });
    await api.request(200, `GET ${PATH}/${uid}`, { token });
    await api.request(204, `DELETE ${PATH}/${uid}`, { token: fixture.admin.token });
    await api.request(401, `GET ${PATH}`, { token });
    await api.request(404, `GET ${PATH}/${uid}`, { token: fixture.admin.token });
    await api.request(404, `DELETE ${PATH}/${uid}`, { token: fixture.admin.token });
    await put(uid, {}, 404);
    const late = await api.identities.token({ type: 'service_account', uid });
    await api.request(401, `GET ${PATH}`, { token: late });
    const [{ live } = { live: -1 }] = await api.database.query<{ live: number }>(
      'SELECT count(*)::int AS live FROM headrace.tokens WHERE service_account_uid = $1 AND revoked_at IS NULL AND hash <> sha256($2::bytea)',
      [uid, Buffer.from(late)],
    );
    expect(live).toBe(0);
    expect(await api.app.get(AgentDirectory).findIdentity(uid, fixture.team)).toBeNull();
    const known = await api.app.get(PrincipalDirectory).describe([{ type: 'service_account', uid }]);
    expect(known.get(uid)?.display_name).toBe('short-lived');
    await make({ name: 'short-lived' });
  });
});

describe('listAgentIdentities', () => {
  it('returns identities by name with shortened prompts; of all teams without a header', async () => {
    const team = await api.identities.team();
    const admin = await api.identities.user({ [team]: 'admin', [fixture.otherTeam]: 'viewer' });
    for (const name of ['beta', 'Alpha', 'gamma']) {
      const body = { name, prompt: 'p'.repeat(5000) };
      await api.request(201, `POST ${PATH}`, { token: admin.token, headers: inTeam(team), body });
    }
    const list = async (headers = {}) =>
      (await api.request(200, `GET ${PATH}`, { token: admin.token, headers })).body.agents as {
        name: string;
        prompt?: string;
      }[];
    const mine = await list(inTeam(team));
    expect(mine.map(({ name }) => name)).toEqual(['Alpha', 'beta', 'gamma']);
    expect(mine.map(({ prompt }) => prompt?.length)).toEqual([2048, 2048, 2048]);
    const theirs = await list(inTeam(fixture.otherTeam));
    expect((await list()).map(({ name }) => name).sort()).toEqual([...mine, ...theirs].map(({ name }) => name).sort());
    await api.request(403, `GET ${PATH}`, { token: admin.token, headers: inTeam(fixture.team) });
  });

  it('returns an empty list to a user without a team', async () => {
    const { token } = await api.identities.user();
    expect((await api.request(200, `GET ${PATH}`, { token })).body).toEqual({ agents: [] });
  });
});

describe('authorization', () => {
  it.each(['owner', 'admin', 'adminOfBoth'] as const)('%s manages identities', async (who) => {
    const { token } = fixture[who];
    const headers = inTeam(fixture.team);
    const body = { name: `by-${who}` };
    const { body: identity } = await api.request(201, `POST ${PATH}`, { token, headers, body });
    await api.request(200, `GET ${PATH}/${identity.uid}`, { token });
    await api.request(200, `PUT ${PATH}/${identity.uid}`, { token, body: {} });
    await api.request(204, `DELETE ${PATH}/${identity.uid}`, { token });
  });

  it.each(['member', 'viewer', 'bot'] as const)('%s reads identities', async (who) => {
    const { uid } = await make();
    const { token } = fixture[who];
    const { body } = await api.request(200, `GET ${PATH}`, { token });
    expect(body.agents.map((agent: { uid: string }) => agent.uid)).toContain(uid);
    await api.request(200, `GET ${PATH}/${uid}`, { token });
    await api.request(403, `POST ${PATH}`, { token, body: { name: 'no' } });
    await api.request(403, `PUT ${PATH}/${uid}`, { token, body: {} });
    await api.request(403, `DELETE ${PATH}/${uid}`, { token });
  });

  it('rejects a principal of another team with 403, an unknown uid with 404, and a blank one with 400', async () => {
    const { uid } = await make();
    const { token } = fixture.stranger;
    const { body } = await api.request(403, `GET ${PATH}/${uid}`, { token });
    expect(body.error_code).toBe('not_authorized');
    await api.request(403, `PUT ${PATH}/${uid}`, { token, body: {} });
    await api.request(403, `DELETE ${PATH}/${uid}`, { token });
    await api.request(404, `GET ${PATH}/${UNKNOWN_UID}`, { token });
    await api.request(404, `GET ${PATH}/nonsense`, { token });
    await api.request(400, `GET ${PATH}/%20`, { token });
    await api.request(400, `DELETE ${PATH}/%20`, { token });
  });

  it('no credential of an identity is ever logged', () => {
    expect(api.log.lines.length).toBeGreaterThan(10);
    expect(api.log.text).not.toContain('swordfish');
  });
});
