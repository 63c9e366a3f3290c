import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUTOMATIONS_ENCRYPTED_COLUMNS } from '#domain/automations';
import { withSettings } from '#platform/config';
import { Database } from '#platform/persistence';
import { KeyRotation, SecretBox } from '#platform/secrets';
import { ApiFixture, automationsOf } from '../../support/api-fixture.js';

const SECRET = 'correct-horse-battery';
const HEADER = 'Bearer staple';
const MASK = '***';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
});
afterAll(() => fixture.close());

const config = () => ({
  mcp_servers: {
    'a/b': { command: 'serve', args: ['--all'], env: { TOKEN: SECRET } },
    web: { url: 'https://tools.example.com/mcp', headers: { Authorization: HEADER } },
  },
});
const rowOf = async (uid: string) => {
  const [row] = await fixture.database.query<{ config: ReturnType<typeof config>; text: string; version: string }>(
    'SELECT agent_config AS config, row_to_json(a)::text AS text, version::text FROM automations a WHERE uid = $1',
    [uid],
  );
  if (!row) throw new Error(`There is no automation ${uid}.`);
  return row;
};
const put = (status: number, body: { uid: string }) =>
  fixture.requestAsAdmin(status, `PUT ${automationsOf(fixture.factory)}/${body.uid}`, body);
const opened = async (uid: string, box = new SecretBox(fixture.api.settings)) => {
  const { 'a/b': one, web } = (await rowOf(uid)).config.mcp_servers;
  const owner = `mcp-server/automation/${uid}`;
  return [
    box.open(one.env.TOKEN, `${owner}/a~1b/env/TOKEN`),
    box.open(web.headers.Authorization, `${owner}/web/headers/Authorization`),
  ];
};

describe('values of env and headers', () => {
  it('are stored encrypted, returned masked, and not logged', async () => {
    const body = await fixture.createAutomation({ agent_config: config() });
    const { 'a/b': one, web } = body.agent_config.mcp_servers;
    expect([one.env, web.headers]).toEqual([{ TOKEN: MASK }, { Authorization: MASK }]);
    const { text } = await rowOf(body.uid);
    const list = JSON.stringify(await fixture.requestAsAdmin(200, `GET ${automationsOf(fixture.factory)}`));
    const got = JSON.stringify(await fixture.requestAsAdmin(200, `GET ${automationsOf(fixture.factory)}/${body.uid}`));
    for (const place of [text, list, got, fixture.api.log.text])
      for (const value of [SECRET, HEADER]) expect(place).not.toContain(value);
    expect(await opened(body.uid)).toEqual([SECRET, HEADER]);
  });

  it('are kept when the response of a GET is sent, and replaced by new values', async () => {
    const body = await fixture.createAutomation({ agent_config: config() });
    await put(200, body);
    expect(await opened(body.uid)).toEqual([SECRET, HEADER]);
    body.agent_config.mcp_servers.web.headers.Authorization = 'Bearer other';
    await put(200, body);
    expect(await opened(body.uid)).toEqual([SECRET, 'Bearer other']);
  });

  it('are not applied to another command or URL, nor to a server without values', async () => {
    const { uid, ...body } = await fixture.createAutomation({ agent_config: config() });
    const before = await rowOf(uid);
    const { 'a/b': one, web } = body.agent_config.mcp_servers;
    const cases = [
      [{ 'a/b': { ...one, command: 'steal' } }, '/agent_config/mcp_servers/a~1b/env/TOKEN'],
      [
        { 'a/b': { ...one, env: { TOKEN: MASK, NODE_OPTIONS: '--require=x' } } },
        '/agent_config/mcp_servers/a~1b/env/TOKEN',
      ],
      [
        { web: { ...web, url: 'https://elsewhere.example.com' } },
        '/agent_config/mcp_servers/web/headers/Authorization',
      ],
      [{ new: one }, '/agent_config/mcp_servers/new/env/TOKEN'],
    ] as const;
    for (const [mcp_servers, pointer] of cases) {
      const { errors } = await put(400, { uid, ...body, agent_config: { mcp_servers } });
      expect(errors).toEqual([{ pointer, detail: expect.any(String) }]);
    }
    expect(await rowOf(uid)).toEqual(before);
    // A new automation has nothing to keep.
    await fixture.requestAsAdmin(
      400,
      `POST ${automationsOf(fixture.factory)}`,
      await fixture.automationBody({ agent_config: body.agent_config }),
    );
  });

  it('re-encrypts credentials when the key changes', async () => {
    const { uid } = await fixture.createAutomation({ agent_config: config() });
    await fixture.createAutomation({ agent_config: { model_id: 'large' } });
    const { version } = await rowOf(uid);
    const { secretsKey = '' } = fixture.api.settings;
    const key = { secretsKey: 'the-next-key-of-this-installation-01234' };
    const next = new SecretBox(withSettings(fixture.api.settings, { ...key, secretsKeyPrevious: [secretsKey] }));
    const rotation = new KeyRotation(fixture.api.app.get(Database, { strict: false }), next);
    const rotate = async () => (await rotation.rotate(AUTOMATIONS_ENCRYPTED_COLUMNS).next()).value;
    const first = await rotate();
    expect(first).toMatchObject({ table: 'automations', broken: 0 });
    expect(first.changed).toBeGreaterThanOrEqual(2);
    expect(await opened(uid, new SecretBox(withSettings(fixture.api.settings, key)))).toEqual([SECRET, HEADER]);
    expect((await rowOf(uid)).version).toBe(version);
    expect(await rotate()).toEqual({ table: 'automations', changed: 0, broken: 0 });
  });
});
