import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentDirectory } from '#domain/agents';
import { startTestApi, type TestApi } from '#testing';
import { ApiFixture } from '../../support/api-fixture.js';
import { inTeam, OVERSIZED_BODY, pointersOf, UNKNOWN_UID } from '../../support/api-requests.js';

const PATH = '/mcp-servers';
const LOCAL = { command: 'serve', args: ['--port', '0'], env: { TOKEN: 'swordfish-env' } };
const REMOTE = { url: 'https://mcp.example.test/', headers: { Authorization: 'Bearer swordfish-header' } };

let api: TestApi;
let fixture: ApiFixture;

beforeAll(async () => {
  api = await startTestApi();
  fixture = await ApiFixture.over(api);
});
afterAll(() => api.close());

let made = 0;
async function make(fields: object = LOCAL, token = fixture.admin.token) {
  made += 1;
  return (await api.request(201, `POST ${PATH}`, { token, body: { name: `server-${made}`, ...fields } })).body;
}
const put = (uid: string, body: object, status = 200) =>
  api.request(status, `PUT ${PATH}/${uid}`, { token: fixture.admin.token, body });
const opened = async (uid: string) => (await api.app.get(AgentDirectory).findMcpServers(fixture.team, [uid])).get(uid);

describe('createMcpServer', () => {
  it.each([
    ['a command', LOCAL, { ...LOCAL, env: { TOKEN: '***' } }],
    ['an address', REMOTE, { ...REMOTE, headers: { Authorization: '***' } }],
  ])('with %s is returned masked, stored encrypted, and decrypted for runs', async (_name, given, shown) => {
    const body = await make({ ...given, description: 'Ours' });
    expect(body).toEqual({
      uid: expect.stringMatching(/^[A-Za-z0-9]{22}$/),
      name: body.name,
      description: 'Ours',
      ...shown,
      created_at: expect.stringMatching(/Z$/),
      updated_at: body.created_at,
    });
    const found = await api.request(200, `GET ${PATH}/${body.uid}`, { token: fixture.viewer.token });
    expect(found.body).toEqual(body);
    const [row] = await api.database.query<{ text: string }>(
      'SELECT row_to_json(s)::text AS text FROM headrace.mcp_servers s WHERE uid = $1',
      [body.uid],
    );
    expect(row?.text).toContain('Ours');
    expect(row?.text).not.toContain('swordfish');
    expect(await opened(body.uid)).toEqual(given);
  });

  it.each([
    [{}, ['']],
    [{ command: 'x', url: 'https://x.test' }, ['']],
    [{ command: 'x', headers: {} }, ['/headers']],
    [{ url: 'https://x.test', args: [], env: {} }, ['/args', '/env']],
    [{ command: ' ' }, ['/command']],
    [{ url: 'ftp://x.test' }, ['/url']],
    [{ url: 'https://bot:swordfish@x.test' }, ['/url']],
    [{ command: 'x', warp_id: UNKNOWN_UID }, ['/warp_id']],
    [{ command: 'x', env: { K: 1 } }, ['/env/K']],
    [{ command: 'x', env: { 'a/b': '***' } }, ['/env/a~1b']],
    [{ command: 'x', name: '' }, ['/name']],
  ])('400: %j', async (fields, pointers) => {
    const body = { name: 'wrong', ...fields };
    const { body: problem } = await api.request(400, `POST ${PATH}`, { token: fixture.admin.token, body });
    expect(pointersOf(problem)).toEqual(pointers);
  });

  it('rejects a name that exists, or no chosen team, with 400', async () => {
    await make({ name: 'Taken', ...LOCAL });
    const body = { name: 'taken', ...LOCAL };
    const taken = await api.request(400, `POST ${PATH}`, { token: fixture.admin.token, body });
    expect(pointersOf(taken.body)).toEqual(['/name']);
    const { token } = fixture.adminOfBoth;
    const nowhere = await api.request(400, `POST ${PATH}`, { token, body });
    expect(nowhere.body.detail).toContain('X-Headrace-Team-Uid');
    await api.request(201, `POST ${PATH}`, { token, headers: inTeam(fixture.otherTeam), body });
  });

  it('rejects a server of more than 65,536 bytes', async () => {
    const args = Array.from({ length: 40 }, () => 'x'.repeat(1_700));
    const body = { name: 'large', command: 'server', args };
    const { body: problem } = await api.request(400, `POST ${PATH}`, { token: fixture.admin.token, body });
    expect(problem.errors).toEqual([{ pointer: '', detail: 'must not exceed 65536 bytes as JSON' }]);
  });

  it('rejects the 201st server of a team with 403 limit_reached', async () => {
    const team = await api.identities.team();
    const { token } = await api.identities.user({ [team]: 'admin' });
    await api.database.query(
      `INSERT INTO headrace.mcp_servers (uid, team_uid, name, config)
       SELECT lpad(n::text, 22, 'M'), $1, 's' || n, '{"command": "x"}' FROM generate_series(1, 199) n`,
      [team],
    );
    await api.request(201, `POST ${PATH}`, { token, body: { name: 'last', ...LOCAL } });
    const { body } = await api.request(403, `POST ${PATH}`, { token, body: { name: 'beyond', ...LOCAL } });
    expect(body.error_code).toBe('limit_reached');
  });

  it('rejects a large body with 413, and another media type with 415', async () => {
    const { token } = fixture.admin;
    await api.request(413, `POST ${PATH}`, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(415, `POST ${PATH}`, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('updateMcpServer', () => {
  it('replaces all fields', async () => {
    const { uid, name } = await make({ ...LOCAL, description: 'Old' });
    const { body } = await put(uid, { name: `${name}-remote`, ...REMOTE });
    expect(body).toEqual({
      ...{ uid, name: `${name}-remote`, url: REMOTE.url, headers: { Authorization: '***' } },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await opened(uid)).toEqual(REMOTE);
  });

  it('*** keeps stored values when only name and description change, or values are removed', async () => {
    const headers = { ...REMOTE.headers, 'X-More': 'swordfish-more' };
    const { uid, name } = await make({ url: REMOTE.url, headers });
    const masked = { Authorization: '***', 'X-More': '***' };
    const { body } = await put(uid, { name, description: 'New', url: REMOTE.url, headers: masked });
    expect(body).toMatchObject({ description: 'New', headers: masked });
    expect(await opened(uid)).toEqual({ url: REMOTE.url, headers });
    await put(uid, { name, url: REMOTE.url, headers: { Authorization: '***' } });
    expect(await opened(uid)).toEqual(REMOTE);
  });

  it.each([
    ['another address', REMOTE, { url: 'https://elsewhere.test/', headers: { Authorization: '***' } }],
    ['one more header', REMOTE, { url: REMOTE.url, headers: { Authorization: '***', Host: 'elsewhere.test' } }],
    ['another command', LOCAL, { ...LOCAL, command: 'leak', env: { TOKEN: '***' } }],
    ['other arguments', LOCAL, { ...LOCAL, args: ['--upstream', 'elsewhere.test'], env: { TOKEN: '***' } }],
    ['one more variable', LOCAL, { ...LOCAL, env: { TOKEN: '***', NODE_OPTIONS: '--require=/tmp/leak.js' } }],
    [
      'a changed variable',
      { ...LOCAL, env: { TOKEN: 'swordfish-env', PATH: '/usr/bin' } },
      { ...LOCAL, env: { TOKEN: '***', PATH: '/tmp/leak' } },
    ],
    ['a variable that was not there', LOCAL, { ...LOCAL, env: { OTHER: '***' } }],
  ] as const)('rejects *** beside %s with 400, without a change', async (_name, given, asked) => {
    const { uid, name } = await make(given);
    const { body } = await put(uid, { name, ...asked }, 400);
    const place = 'headers' in asked ? '/headers/Authorization' : 'OTHER' in asked.env ? '/env/OTHER' : '/env/TOKEN';
    expect(pointersOf(body)).toEqual([place]);
    expect(body.detail).toContain('must be sent again');
    expect(await opened(uid)).toEqual(given);
    const inClear = {
      ...asked,
      ...('headers' in asked ? { headers: { Authorization: 'new' } } : { env: { TOKEN: 'new' } }),
    };
    await put(uid, { name, ...inClear });
    expect(await opened(uid)).toEqual(inClear);
  });

  it('rejects invalid fields with 400, an unknown uid with 404, and invalid bodies with 413 and 415', async () => {
    const [one, other] = [await make(), await make()];
    expect(pointersOf((await put(one.uid, LOCAL, 400)).body)).toEqual(['/name']);
    expect(pointersOf((await put(one.uid, { name: 'x' }, 400)).body)).toEqual(['']);
    expect(pointersOf((await put(one.uid, { name: other.name, ...LOCAL }, 400)).body)).toEqual(['/name']);
    await put('%20', { name: 'x', ...LOCAL }, 400);
    await put(UNKNOWN_UID, { name: 'x', ...LOCAL }, 404);
    const { token } = fixture.admin;
    await api.request(413, `PUT ${PATH}/${one.uid}`, { token, body: OVERSIZED_BODY, contentType: 'application/json' });
    await api.request(415, `PUT ${PATH}/${one.uid}`, { token, body: '{}', contentType: 'text/plain' });
  });
});

describe('listMcpServers', () => {
  it('returns the servers of the team by name; of all teams of the caller without a header', async () => {
    const [team, second] = [await api.identities.team(), await api.identities.team()];
    const { token } = await api.identities.user({ [team]: 'admin', [second]: 'admin' });
    for (const [name, at] of [
      ['beta', team],
      ['Alpha', team],
      ['gamma', second],
    ] as const)
      await api.request(201, `POST ${PATH}`, { token, headers: inTeam(at), body: { name, ...REMOTE } });
    const names = async (headers = {}) => {
      const { body, text } = await api.request(200, `GET ${PATH}`, { token, headers });
      expect(text).not.toContain('swordfish');
      return body.mcp_servers.map(({ name }: { name: string }) => name);
    };
    expect(await names()).toEqual(['Alpha', 'beta', 'gamma']);
    expect(await names(inTeam(team))).toEqual(['Alpha', 'beta']);
    await api.request(403, `GET ${PATH}`, { token, headers: inTeam(fixture.team) });
  });
});

describe('deleteMcpServer', () => {
  it('deletes the server with 204', async () => {
    const { uid } = await make();
    await api.request(204, `DELETE ${PATH}/${uid}`, { token: fixture.admin.token });
    await api.request(404, `GET ${PATH}/${uid}`, { token: fixture.admin.token });
    await api.request(404, `DELETE ${PATH}/${uid}`, { token: fixture.admin.token });
    expect(await opened(uid)).toBeUndefined();
  });
});

describe('authorization', () => {
  it.each(['owner', 'admin', 'adminOfBoth'] as const)('%s manages servers', async (who) => {
    const { token } = fixture[who];
    const body = { name: `by-${who}`, ...LOCAL };
    const { body: server } = await api.request(201, `POST ${PATH}`, { token, headers: inTeam(fixture.team), body });
    await api.request(200, `GET ${PATH}/${server.uid}`, { token });
    await api.request(200, `PUT ${PATH}/${server.uid}`, { token, body });
    await api.request(204, `DELETE ${PATH}/${server.uid}`, { token });
  });

  it.each(['member', 'viewer', 'bot'] as const)('%s reads servers', async (who) => {
    const { uid } = await make();
    const { token } = fixture[who];
    const body = { name: 'no', ...LOCAL };
    const listed = await api.request(200, `GET ${PATH}`, { token });
    expect(listed.body.mcp_servers.map((server: { uid: string }) => server.uid)).toContain(uid);
    await api.request(200, `GET ${PATH}/${uid}`, { token });
    await api.request(403, `POST ${PATH}`, { token, body });
    await api.request(403, `PUT ${PATH}/${uid}`, { token, body });
    await api.request(403, `DELETE ${PATH}/${uid}`, { token });
  });

  it('rejects a principal of another team with 403, an unknown uid with 404, and a blank one with 400', async () => {
    const { uid } = await make();
    const { token } = fixture.stranger;
    await api.request(403, `GET ${PATH}/${uid}`, { token });
    await api.request(403, `PUT ${PATH}/${uid}`, { token, body: { name: 'x', ...LOCAL } });
    await api.request(403, `DELETE ${PATH}/${uid}`, { token });
    await api.request(404, `GET ${PATH}/${UNKNOWN_UID}`, { token });
    await api.request(400, `GET ${PATH}/%20`, { token });
    await api.request(400, `DELETE ${PATH}/%20`, { token });
    expect(await api.app.get(AgentDirectory).findMcpServers(fixture.otherTeam, [uid, 'nonsense'])).toEqual(new Map());
  });
});
