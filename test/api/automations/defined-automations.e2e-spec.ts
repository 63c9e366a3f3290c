import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Automation, type AutomationFields, DefinedAutomations, type Trigger } from '#domain/automations';
import { Database, type Queryable } from '#platform/persistence';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';

let fixture: ApiFixture;
let defined: DefinedAutomations;
let database: Database;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
  defined = fixture.api.app.get(DefinedAutomations, { strict: false });
  database = fixture.api.app.get(Database, { strict: false });
});
afterAll(() => fixture.close());

const within = <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => database.transaction(work);
const scopeOf = (factoryUid: string) => ({ factoryUid, teamUid: fixture.team });
const author = () => ({ type: 'user' as const, uid: fixture.admin.uid });

async function fields(factory: string, changes: Partial<AutomationFields> = {}): Promise<AutomationFields> {
  const trigger = webhookTrigger(await fixture.buildWebhook(factory)) as Trigger;
  return {
    name: 'triage',
    enabled: true,
    prompt: 'Go.',
    agentConfig: null,
    agentIdentityUid: null,
    answers: null,
    eventRepository: false,
    concurrency: null,
    triggers: [trigger],
    ...changes,
  };
}

describe('the automations of a definition', () => {
  it('are created, listed, replaced and deleted within a transaction', async () => {
    const factory = await fixture.createFactory();
    await fixture.createAutomation({ name: 'of the API' }, factory);
    const one = await fields(factory, { name: 'one' });
    const made = await within((tx) => defined.create(tx, scopeOf(factory), author(), one));
    if (made.kind !== 'created') throw new Error(made.kind);
    const list = (): Promise<Automation[]> => within((tx) => defined.list(tx, factory));
    expect(await list()).toMatchObject([{ ...one, uid: made.uid, source: 'definition', version: 1, author: author() }]);
    const changed = { ...one, name: 'other', agentConfig: { model_id: 'large' } };
    await within((tx) => defined.replace(tx, scopeOf(factory), author(), made.uid, changed));
    expect(await list()).toMatchObject([{ ...changed, version: 2 }]);
    expect(await within((tx) => defined.remainingQuota(tx, factory))).toBe(1998);
    const undone = within(async (tx) => {
      await defined.delete(tx, scopeOf(factory), made.uid);
      throw new Error('Not after all.');
    });
    await expect(undone).rejects.toThrow('Not after all.');
    expect(await list()).toHaveLength(1);
    await within((tx) => defined.delete(tx, scopeOf(factory), made.uid));
    expect(await list()).toEqual([]);
    expect(await within((tx) => defined.remainingQuota(tx, factory))).toBe(1999);
  });

  it('are validated by the rules of the API, each by itself', async () => {
    const factory = await fixture.createFactory();
    const wrong = await fields(factory, {
      name: 'x'.repeat(129),
      prompt: ' ',
      agentConfig: { environment_id: '0'.repeat(22), mcp_servers: { tools: { warp_id: '0'.repeat(22) } } },
      triggers: [webhookTrigger('0'.repeat(22), { a: 1 }) as Trigger],
    });
    const issues = await within((tx) =>
      fields(factory).then((right) => defined.validate(tx, scopeOf(factory), [wrong, right])),
    );
    expect(issues[0]?.map(({ pointer }) => pointer).sort()).toEqual([
      '/agent_config/environment_id',
      '/agent_config/mcp_servers/tools/warp_id',
      '/name',
      '/prompt',
      '/triggers/0/filter/payload/a',
    ]);
    expect(issues[1]).toEqual([]);
  });

  it('refer to webhooks of the same transaction', async () => {
    const factory = await fixture.createFactory();
    const { uid } = await fixture.api.identities.serviceAccount(fixture.team);
    const issues = await within(async (tx) => {
      await tx.query(`INSERT INTO agent_identities (uid, team_uid, name) VALUES ($1, $2, 'made here')`, [
        uid,
        fixture.team,
      ]);
      return defined.validate(tx, scopeOf(factory), [await fields(factory, { agentIdentityUid: uid })]);
    });
    expect(issues).toEqual([[]]);
  });

  it('are returned without credentials that the API has set', async () => {
    const factory = await fixture.createFactory();
    const made = await within(async (tx) => defined.create(tx, scopeOf(factory), author(), await fields(factory)));
    const { uid } = made as { uid: string };
    const path = `${automationsOf(factory)}/${uid}`;
    const agent_config = {
      mcp_servers: { web: { url: 'https://x.example.com', headers: { Authorization: 'swordfish' } } },
    };
    await fixture.requestAsAdmin(200, `PUT ${path}`, {
      ...(await fixture.requestAsAdmin(200, `GET ${path}`)),
      agent_config,
    });
    const [listed] = await within((tx) => defined.list(tx, factory));
    expect(listed?.agentConfig).toEqual({
      mcp_servers: { web: { url: 'https://x.example.com', headers: { Authorization: '***' } } },
    });
  });
});

describe('a trigger with a provider that is not installed any more', () => {
  it('is returned with an obstacle, may be kept, and does not fire', async () => {
    const { uid } = await fixture.createAutomation();
    const gone = { provider: 'mail', event: 'sent', to: 'ops' };
    await fixture.database.query(
      `UPDATE automation_triggers t SET provider = 'mail', event = 'sent', trigger = $2
         FROM automations a WHERE a.id = t.automation_id AND a.uid = $1`,
      [uid, JSON.stringify(gone)],
    );
    const path = `${automationsOf(fixture.factory)}/${uid}`;
    const shown = await fixture.requestAsAdmin(200, `GET ${path}`);
    const obstacle = { code: 'unknown_provider', detail: expect.any(String) };
    expect(shown.triggers).toEqual([{ ...gone, obstacle }]);
    expect((await fixture.requestAsAdmin(200, `PUT ${path}`, shown)).triggers).toEqual([{ ...gone, obstacle }]);
    expect(await fixture.requestAsAdmin(200, `POST ${path}/triggers/0/test`, { payload: 1 })).toMatchObject({
      would_trigger: false,
      checks: [
        { check: 'enabled', passed: true },
        { check: 'mail', passed: false },
      ],
    });
  });
});
