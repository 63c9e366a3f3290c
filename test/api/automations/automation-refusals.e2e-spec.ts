import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, automationsOf, webhookTrigger } from '../../support/api-fixture.js';

let fixture: ApiFixture;
let webhook: string;

beforeAll(async () => {
  fixture = await ApiFixture.start();
  await fixture.createFactory();
  webhook = await fixture.buildWebhook();
});
afterAll(() => fixture.close());

const deep = (levels: number): unknown => (levels === 0 ? [1] : { a: deep(levels - 1) });
const filter = (changes: object) => ({
  triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [webhook], ...changes } }],
});
const second = (trigger: unknown) => ({ triggers: [webhookTrigger(webhook), trigger] });

/** Changes of a valid automation, where they are refused, and what is said. */
const REFUSALS: readonly (readonly [what: string, changes: () => object, pointer: string, says: RegExp])[] = [
  ['a blank name', () => ({ name: ' ' }), '/name', /blank/],
  ['a long name', () => ({ name: 'x'.repeat(129) }), '/name', /128/],
  ['no name', () => ({ name: undefined }), '/name', /required/],
  ['no word on whether it is enabled', () => ({ enabled: undefined }), '/enabled', /required/],
  ['a blank prompt', () => ({ prompt: '\n' }), '/prompt', /blank/],
  ['a long prompt', () => ({ prompt: 'é'.repeat(32_769) }), '/prompt', /65536 bytes/],
  ['a broken placeholder', () => ({ prompt: 'Fix {{ payload..x }}' }), '/prompt', /./],
  ['no triggers', () => ({ triggers: [] }), '/triggers', /at least/],
  [
    'many triggers',
    () => ({ triggers: Array.from({ length: 21 }, () => webhookTrigger(webhook)) }),
    '/triggers',
    /(at most|not exceed) 20/,
  ],
  [
    'triggers that would fill the memory of anybody who evaluates them',
    () => filter({ payload: { ['k'.repeat(65_536)]: { exists: true } } }),
    '/triggers',
    /65536 bytes/,
  ],
  ['a trigger that is no object', () => second('webhook'), '/triggers/1', /object/],
  [
    'an unknown provider',
    () => second({ ...webhookTrigger(webhook), provider: 'mail' }),
    '/triggers/1/provider',
    /one of .*webhook/,
  ],
  ['no provider', () => second({ event: 'received' }), '/triggers/1/provider', /required/],
  ['an unknown event', () => second({ ...webhookTrigger(webhook), event: 'sent' }), '/triggers/1/event', /received/],
  ['an unknown field', () => second({ ...webhookTrigger(webhook), 'filt/er': 1 }), '/triggers/1/filt~1er', /filter/],
  ['no filter', () => second({ provider: 'webhook', event: 'received' }), '/triggers/1/filter', /required/],
  ['an unknown field of a filter', () => filter({ payloads: {} }), '/triggers/0/filter/payloads', /payload/],
  ['no webhook', () => filter({ webhook_ids: [] }), '/triggers/0/filter/webhook_ids', /exactly one/],
  ['two webhooks', () => filter({ webhook_ids: [webhook, webhook] }), '/triggers/0/filter/webhook_ids', /exactly one/],
  ['a webhook’s name', () => filter({ webhook_ids: ['ci'] }), '/triggers/0/filter/webhook_ids/0', /UID/],
  [
    'a bare scalar',
    () => filter({ payload: { data: { type: 'x' } } }),
    '/triggers/0/filter/payload/data/type',
    /array/,
  ],
  ['an empty set', () => filter({ payload: { a: { in: [] } } }), '/triggers/0/filter/payload/a/in', /./],
  ['a deep filter', () => filter({ payload: deep(11) }), `/triggers/0/filter/payload${'/a'.repeat(10)}`, /10/],
  ['a malformed environment', () => ({ agent_config: { environment_id: 'x' } }), '/agent_config/environment_id', /22/],
  ['an unknown setting', () => ({ agent_config: { modell: 'x' } }), '/agent_config/modell', /known/],
  ['a reserved worker', () => ({ agent_config: { worker_host: 'WARPED' } }), '/agent_config/worker_host', /`warp`/],
  [
    'two kinds of skills',
    () => ({ agent_config: { skill_spec: 'a/b:c', skills: ['a/b:c'] } }),
    '/agent_config/skills',
    /skill_spec/,
  ],
  [
    'a server that is nowhere',
    () => ({ agent_config: { mcp_servers: { 'a/b': {} } } }),
    '/agent_config/mcp_servers/a~1b',
    /exactly one/,
  ],
  [
    'a large configuration',
    () => ({ agent_config: { base_prompt: 'x'.repeat(65_536) } }),
    '/agent_config',
    /65536 bytes/,
  ],
  ['a foreign key', () => ({ uid: webhook }), '/uid', /known/],
];

describe('an invalid automation', () => {
  it.each(REFUSALS)('is rejected with 400: %s', async (_what, changes, pointer, says) => {
    const body = await fixture.automationBody({ triggers: [webhookTrigger(webhook)], ...changes() });
    const problem = await fixture.requestAsAdmin(400, `POST ${automationsOf(fixture.factory)}`, body);
    expect(problem.error_code).toBe('invalid_request');
    const pointers = problem.errors.map((issue: { pointer: string }) => issue.pointer);
    const found = problem.errors.find((issue: { pointer: string }) => issue.pointer === pointer);
    expect(pointers).toContain(pointer);
    expect(`${pointer} ${found.detail}`).toMatch(says);
    expect(problem.detail).not.toBe('');
  });

  it('is rejected with the same 400 for a deleted webhook, one of another factory, and an unknown one', async () => {
    const deleted = await fixture.webhooks.webhook({ factoryUid: fixture.factory, isDeleted: true });
    const elsewhere = await fixture.buildWebhook(await fixture.createFactory());
    const answers: unknown[] = [];
    for (const uid of [deleted.uid, elsewhere, '0'.repeat(22)])
      answers.push(
        (
          await fixture.requestAsAdmin(
            400,
            `POST ${automationsOf(fixture.factory)}`,
            await fixture.automationBody({ triggers: [webhookTrigger(uid)] }),
          )
        ).errors,
      );
    expect(answers[0]).toEqual([{ pointer: '/triggers/0/filter/webhook_ids/0', detail: expect.any(String) }]);
    expect(answers).toEqual([answers[0], answers[0], answers[0]]);
  });

  it('is rejected with 400 and all errors at once', async () => {
    const body = await fixture.automationBody({
      prompt: '{{ payload..x }}',
      agent_identity_uid: '0'.repeat(22),
      agent_config: { skill_spec: 'a/b:c', skills: ['a/b:c'] },
      ...second({ provider: 'mail', event: 'received' }),
    });
    const { errors } = await fixture.requestAsAdmin(400, `POST ${automationsOf(fixture.factory)}`, body);
    expect(errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/agent_config/skills',
      '/agent_identity_uid',
      '/prompt',
      '/triggers/1/provider',
    ]);
  });

  it('is rejected with the same 403 for references that do not exist or are not accessible', async () => {
    const { token } = fixture.admin;
    const stranger = fixture.stranger.token;
    const environment = async (by: string, team?: boolean) =>
      (await fixture.request(201, 'POST /environments', { token: by, body: { config: { name: 'e' }, team } })).body.uid;
    const { body: identity } = await fixture.request(201, 'POST /agent/identities', {
      token: stranger,
      body: { name: 'i' },
    });
    const { body: away } = await fixture.request(201, 'POST /agent/identities', {
      token,
      body: { name: 'away', available: false },
    });
    const { body: server } = await fixture.request(201, 'POST /mcp-servers', {
      token: stranger,
      body: { name: 's', command: 'x' },
    });
    // One's own is not the team's: its runs continue when one has left.
    const cases: readonly (readonly [object, string])[] = [
      [{ agent_config: { environment_id: await environment(token, false) } }, '/agent_config/environment_id'],
      [{ agent_config: { environment_id: await environment(stranger) } }, '/agent_config/environment_id'],
      [{ agent_config: { environment_id: '0'.repeat(22) } }, '/agent_config/environment_id'],
      [{ agent_config: { mcp_servers: { s: { warp_id: server.uid } } } }, '/agent_config/mcp_servers/s/warp_id'],
      [
        { agent_config: { harness_auth_secrets: { claude_auth_secret_name: 'x' } } },
        '/agent_config/harness_auth_secrets/claude_auth_secret_name',
      ],
      [{ agent_identity_uid: identity.uid }, '/agent_identity_uid'],
      [{ agent_identity_uid: away.uid }, '/agent_identity_uid'],
      [{ agent_identity_uid: 'nobody' }, '/agent_identity_uid'],
    ];
    for (const [changes, pointer] of cases) {
      const body = await fixture.automationBody({ triggers: [webhookTrigger(webhook)], ...changes });
      const problem = await fixture.requestAsAdmin(403, `POST ${automationsOf(fixture.factory)}`, body);
      expect(problem).toMatchObject({ error_code: 'not_authorized', errors: [{ pointer }] });
    }
    const [count] = await fixture.database.query('SELECT count(*)::int AS n FROM automations');
    expect(count).toEqual({ n: 0 });
  });
});
