import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, definitionOf, type Files, filesOf } from '../../support/api-fixture.js';
import { FACTORY, automation, actionsOf, entryOf, definitionRows } from './definition-plans.js';

let fixture: ApiFixture;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.putSecret('ci-secret', 'swordfish-1');
});
afterAll(() => fixture.close());

const get = async (line: string) => (await fixture.request(200, `GET ${line}`, { token: fixture.admin.token })).body;

const WEBHOOK = 'secretName: ci-secret\n';
const BASE: Files = { 'factory.yaml': FACTORY, 'webhooks/ci.yaml': WEBHOOK };

/** A factory with a webhook, an agent, two automations and a skill. */
async function applied(name: string, lines = ''): Promise<{ factory: string; hook: string; files: Files }> {
  const factory = await fixture.createFactory();
  const hook = entryOf(await fixture.applyDefinition(factory, BASE), 'webhook', 'ci').uid ?? '';
  const files = {
    'factory.yaml': `${FACTORY}agentDefaults:\n  model: auto\n  harness: codex\n`,
    'webhooks/ci.yaml': WEBHOOK,
    [`agents/${name}/agent.md`]: '---\ndescription: Looks into things\nmodel: gpt-5\n---\n\nYou look into things.\n',
    'automations/fix/automation.md': automation(hook, `agent: ${name}\n${lines}`),
    'automations/note/automation.md': automation(hook, 'enabled: false\nmodel: gpt-5-mini\n', 'Take a note.'),
    'skills/logs/SKILL.md': '---\nname: logs\n---\n\nRead logs from the end.\n',
  };
  await fixture.applyDefinition(factory, files);
  return { factory, hook, files };
}

describe('applyFactoryDefinition', () => {
  it('creates every resource and returns one plan', async () => {
    const factory = await fixture.createFactory();
    const first = await fixture.applyDefinition(factory, BASE);
    expect(first).toMatchObject({ applied: true, summary: { create: 1, update: 1, delete: 0, unchanged: 0 } });
    expect(actionsOf(first)).toEqual(['update factory Builds', 'create webhook ci']);
    const { uid = '' } = entryOf(first, 'webhook', 'ci');
    expect(await get(`/factories/${factory}/webhooks/${uid}`)).toMatchObject({
      name: 'ci',
      auth_mode: 'token',
      secret_name: 'ci-secret',
      enabled: true,
      source: 'definition',
      ingress_url: `https://in.example.com/webhooks/w/${uid}`,
    });
    const second = await fixture.applyDefinition(factory, {
      ...BASE,
      'factory.yaml': `${FACTORY}description: All builds\nalias: builds\nagentDefaults:\n  model: auto\n  harness: codex\n`,
      'agents/triage/agent.md': '---\ndescription: Looks\nmodel: gpt-5\n---\n\nYou look.\n',
      'automations/fix/automation.md': automation(uid, 'agent: triage\nworkerHost: big\n'),
      'automations/note/automation.md': automation(uid, 'enabled: false\nmodel: gpt-5-mini\n', 'Take a note.'),
      'skills/logs/SKILL.md': '---\nname: logs\n---\n\nRead logs from the end.\n',
      'agents/triage/skills/deep/dig/SKILL.md': '---\nname: dig\n---\n\nDig.\n',
    });
    expect(actionsOf(second)).toEqual([
      'update factory Builds',
      'unchanged webhook ci',
      'create agent triage',
      'create automation fix',
      'create automation note',
      'create skill agents/triage/skills/deep/dig/SKILL.md',
      'create skill skills/logs/SKILL.md',
    ]);
    expect(entryOf(second, 'factory', 'Builds')).toEqual({
      action: 'update',
      kind: 'factory',
      name: 'Builds',
      path: 'factory.yaml',
      uid: factory,
      changes: ['agentDefaults', 'alias', 'description'],
      drifted: false,
    });
    const triage = entryOf(second, 'agent', 'triage').uid ?? '';
    expect(await get(`/agent/identities/${triage}`)).toMatchObject({
      name: 'triage',
      description: 'Looks',
      prompt: 'You look.',
      base_model: 'gpt-5',
      harness: { type: 'codex' },
    });
    expect(
      await get(`/factories/${factory}/automations/${entryOf(second, 'automation', 'fix').uid ?? ''}`),
    ).toMatchObject({
      name: 'fix',
      enabled: true,
      prompt: 'Find the cause.',
      agent_identity_uid: triage,
      // The identity brings the rest when a run is created.
      agent_config: { worker_host: 'big' },
      triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [uid] } }],
      source: 'definition',
    });
    const note = await get(`/factories/${factory}/automations/${entryOf(second, 'automation', 'note').uid ?? ''}`);
    expect(note).toMatchObject({
      enabled: false,
      prompt: 'Take a note.',
      agent_config: { model_id: 'gpt-5-mini', harness: { type: 'codex' } },
    });
    expect(note).not.toHaveProperty('agent_identity_uid');
  });

  it('writes no row when the same files are applied twice', async () => {
    const { factory, files } = await applied('twice');
    const before = await definitionRows(fixture);
    const again = await fixture.applyDefinition(factory, files);
    expect(again.summary).toEqual({ create: 0, update: 0, delete: 0, unchanged: 6 });
    expect(again.applied).toBe(true);
    expect(await definitionRows(fixture)).toBe(before);
  });

  it('stores another text with the same meaning without a change of resources', async () => {
    const { factory, files } = await applied('comments');
    const commented = { ...files, 'webhooks/ci.yaml': `# Our CI\n${WEBHOOK}enabled: true\n` };
    expect((await fixture.applyDefinition(factory, commented)).summary).toMatchObject({
      create: 0,
      update: 0,
      delete: 0,
    });
    expect((await fixture.exportDefinition(factory))['webhooks/ci.yaml']).toBe(commented['webhooks/ci.yaml']);
  });

  it('returns the same plan for a dry run and writes nothing', async () => {
    const { factory, hook, files } = await applied('dry');
    const { 'automations/note/automation.md': _gone, ...kept } = files;
    const next = {
      ...kept,
      'webhooks/second.yaml': WEBHOOK,
      'automations/fix/automation.md': automation(hook, 'agent: dry\n', 'Something else.'),
    };
    const before = await definitionRows(fixture);
    const planned = await fixture.planDefinition(factory, next);
    expect(await definitionRows(fixture)).toBe(before);
    expect(planned).toMatchObject({ applied: false, summary: { create: 1, update: 1, delete: 1, unchanged: 4 } });
    expect(entryOf(planned, 'webhook', 'second')).not.toHaveProperty('uid');
    expect(entryOf(planned, 'automation', 'note')).not.toHaveProperty('path');
    expect(entryOf(planned, 'automation', 'fix').changes).toEqual(['prompt']);
    const done = await fixture.applyDefinition(factory, next);
    const withoutUids = (body: typeof done) => body.plan.map(({ uid: _uid, ...entry }: { uid?: string }) => entry);
    expect(withoutUids(done)).toEqual(withoutUids(planned));
  });

  it('keeps the uids of webhooks, agents and automations', async () => {
    const { factory, hook, files } = await applied('keeps');
    const before = await fixture.planDefinition(factory, files);
    await fixture.putSecret('other-secret', 'swordfish-2');
    const after = await fixture.applyDefinition(factory, {
      ...files,
      'webhooks/ci.yaml':
        'authMode: signature\nsignatureScheme: github\nsecretName: other-secret\ndeliveryIdHeader: X-Event-ID\nenabled: false\n',
      'agents/keeps/agent.md': '---\nmodel: auto\n---\n\nOther.\n',
      'automations/fix/automation.md': automation(hook, 'enabled: false\n'),
    });
    expect(entryOf(after, 'webhook', 'ci').changes).toEqual([
      'authMode',
      'deliveryIdHeader',
      'enabled',
      'secretName',
      'signatureScheme',
    ]);
    expect(entryOf(after, 'agent', 'keeps').changes).toEqual(['description', 'model', 'prompt']);
    expect(entryOf(after, 'automation', 'fix').changes).toEqual(['agent', 'enabled', 'harness', 'model']);
    for (const [kind, name] of [
      ['webhook', 'ci'],
      ['agent', 'keeps'],
      ['automation', 'fix'],
    ] as const)
      expect(entryOf(after, kind, name).uid).toBe(entryOf(before, kind, name).uid);
    expect(await get(`/factories/${factory}/webhooks/${hook}`)).toMatchObject({
      signature_scheme: 'github',
      delivery_id_header: 'x-event-id',
      enabled: false,
    });
    const again = await fixture.planDefinition(factory, { ...files, 'webhooks/ci.yaml': WEBHOOK });
    expect(entryOf(again, 'webhook', 'ci').action).toBe('update');
  });

  it('applies new defaults to every agent and automation that does not override them', async () => {
    const { factory, files } = await applied('defaults');
    const plan = await fixture.applyDefinition(factory, {
      ...files,
      'factory.yaml': `${FACTORY}agentDefaults:\n  workerHost: big\n`,
    });
    expect(entryOf(plan, 'agent', 'defaults').changes).toEqual(['harness', 'workerHost']);
    expect(entryOf(plan, 'automation', 'note').changes).toEqual(['harness', 'workerHost']);
    expect(entryOf(plan, 'automation', 'fix').action).toBe('unchanged');
    const [row] = await fixture.database.query(
      'SELECT agent_defaults FROM factory_definitions WHERE factory_uid = $1',
      [factory],
    );
    expect(row).toEqual({ agent_defaults: { workerHost: 'big' } });
  });

  it('deletes only resources whose file was removed', async () => {
    const { factory } = await applied('gone');
    const { token } = fixture.admin;
    const byHand = await fixture.request(201, `POST /factories/${factory}/webhooks`, {
      token,
      body: { name: 'by-hand' },
    });
    const trigger = { provider: 'webhook', event: 'received', filter: { webhook_ids: [byHand.body.uid] } };
    const ofApi = await fixture.request(201, `POST /factories/${factory}/automations`, {
      token,
      body: { name: 'by-hand', enabled: true, prompt: 'Do.', triggers: [trigger] },
    });
    const { agents } = await get('/agent/identities');
    const { uid: agent } = agents.find(({ name }: { name: string }) => name === 'gone');
    const asAgent = { token: await fixture.api.identities.token({ type: 'service_account', uid: agent }) };
    await fixture.request(200, 'GET /agent/models', asAgent);
    const plan = await fixture.applyDefinition(factory, { 'factory.yaml': FACTORY });
    await fixture.request(401, 'GET /agent/models', asAgent);
    expect(actionsOf(plan)).toEqual([
      'update factory Builds',
      'delete webhook ci',
      'delete agent gone',
      'delete automation fix',
      'delete automation note',
      'delete skill skills/logs/SKILL.md',
    ]);
    const { webhooks } = await get(`/factories/${factory}/webhooks`);
    expect(webhooks.map(({ uid }: { uid: string }) => uid)).toEqual([byHand.body.uid]);
    const { automations } = await get(`/factories/${factory}/automations`);
    expect(automations.map(({ uid }: { uid: string }) => uid)).toEqual([ofApi.body.uid]);
    await fixture.request(404, `GET /agent/identities/${entryOf(plan, 'agent', 'gone').uid ?? ''}`, { token });
    expect(await fixture.exportDefinition(factory)).toEqual({ 'factory.yaml': FACTORY });
    expect(actionsOf(await fixture.applyDefinition(factory, { 'factory.yaml': FACTORY }))).toEqual([
      'unchanged factory Builds',
    ]);
  });

  it('keeps automations of the API that select a deleted webhook, with an obstacle', async () => {
    const { factory, hook } = await applied('obstacle');
    const { token } = fixture.admin;
    const trigger = { provider: 'webhook', event: 'received', filter: { webhook_ids: [hook] } };
    const made = await fixture.request(201, `POST /factories/${factory}/automations`, {
      token,
      body: { name: 'by-hand', enabled: true, prompt: 'Do.', triggers: [trigger] },
    });
    await fixture.applyDefinition(factory, { 'factory.yaml': FACTORY });
    expect(await get(`/factories/${factory}/automations/${made.body.uid}`)).toMatchObject({
      triggers: [{ ...trigger, obstacle: { code: 'webhook_deleted' } }],
    });
  });
});

describe('drift', () => {
  it('keeps its webhook when the API has created another one with the same name', async () => {
    const { factory, files } = await applied('namesake');
    const { token } = fixture.admin;
    await fixture.request(201, `POST /factories/${factory}/webhooks`, { token, body: { name: 'ci' } });
    const changed = { ...files, 'webhooks/ci.yaml': `${WEBHOOK}enabled: false\n` };
    expect(entryOf(await fixture.applyDefinition(factory, changed), 'webhook', 'ci')).toMatchObject({
      action: 'update',
      changes: ['enabled'],
    });
  });

  it('is reported for changes through the API, and corrected by an apply', async () => {
    const { factory, hook, files } = await applied('drift');
    const { token } = fixture.admin;
    const planned = await fixture.planDefinition(factory, files);
    const [fix, agent] = [
      entryOf(planned, 'automation', 'fix').uid ?? '',
      entryOf(planned, 'agent', 'drift').uid ?? '',
    ];
    await fixture.request(200, `PATCH /factories/${factory}/webhooks/${hook}`, { token, body: { enabled: false } });
    await fixture.request(200, `PUT /agent/identities/${agent}`, {
      token,
      body: { name: 'renamed', prompt: 'Be lazy.', available: false },
    });
    const { body: stored } = await fixture.request(200, `GET /factories/${factory}/automations/${fix}`, { token });
    const { uid: _uid, source: _source, created_at: _created, updated_at: _updated, ...fields } = stored;
    await fixture.request(200, `PUT /factories/${factory}/automations/${fix}`, {
      token,
      body: { ...fields, prompt: 'Do nothing.', agent_config: { skill_spec: 'o/r:lazy' } },
    });
    const expected = [
      { kind: 'webhook', name: 'ci', changes: ['enabled'] },
      { kind: 'agent', name: 'drift', changes: ['available', 'name', 'prompt'] },
      { kind: 'automation', name: 'fix', changes: ['agentConfig', 'prompt'] },
    ].map((entry) => expect.objectContaining({ ...entry, action: 'update', drifted: true }));
    const touched = ({ plan }: typeof planned) =>
      plan.filter(({ action }: { action: string }) => action !== 'unchanged');
    expect(touched(await fixture.planDefinition(factory, files))).toEqual(expected);
    expect(touched(await fixture.applyDefinition(factory, files))).toEqual(expected);
    expect(await get(`/factories/${factory}/webhooks/${hook}`)).toMatchObject({ enabled: true });
    expect(await get(`/agent/identities/${agent}`)).toMatchObject({
      name: 'drift',
      prompt: 'You look into things.',
      available: true,
    });
    expect(await get(`/factories/${factory}/automations/${fix}`)).toMatchObject({ prompt: 'Find the cause.' });
    expect((await fixture.planDefinition(factory, files)).plan).toEqual(
      planned.plan.map((entry: object) => ({ ...entry, action: 'unchanged', drifted: false })),
    );
  });

  it('creates deleted resources again with another uid; automations that select the old webhook have an obstacle', async () => {
    const { factory, hook, files } = await applied('again');
    const { token } = fixture.admin;
    const before = await fixture.planDefinition(factory, files);
    const agent = entryOf(before, 'agent', 'again').uid ?? '';
    await fixture.request(204, `DELETE /factories/${factory}/webhooks/${hook}`, { token });
    await fixture.request(204, `DELETE /agent/identities/${agent}`, { token });
    const plan = await fixture.applyDefinition(factory, files);
    expect(entryOf(plan, 'webhook', 'ci')).toMatchObject({ action: 'create', drifted: true });
    expect(entryOf(plan, 'webhook', 'ci').uid).not.toBe(hook);
    expect(entryOf(plan, 'agent', 'again')).toMatchObject({ action: 'create', drifted: true });
    const fix = entryOf(plan, 'automation', 'fix');
    expect(fix).toMatchObject({ action: 'update', changes: ['agent'], drifted: true });
    expect(await get(`/factories/${factory}/automations/${fix.uid ?? ''}`)).toMatchObject({
      agent_identity_uid: entryOf(plan, 'agent', 'again').uid,
      triggers: [{ obstacle: { code: 'webhook_deleted' } }],
    });
    expect((await fixture.applyDefinition(factory, files)).summary).toMatchObject({
      create: 0,
      update: 0,
      unchanged: 6,
    });
  });

  it('accepts the same agent name in another factory and in the team', async () => {
    const { token } = fixture.admin;
    await fixture.request(201, 'POST /agent/identities', { token, body: { name: 'Foreman' } });
    const files = { ...BASE, 'agents/foreman/agent.md': '---\n---\n' };
    const factories = [await fixture.createFactory(), await fixture.createFactory()];
    const uids: (string | undefined)[] = [];
    for (const factory of factories)
      uids.push(entryOf(await fixture.applyDefinition(factory, files), 'agent', 'foreman').uid);
    expect(new Set(uids).size).toBe(2);
    const { agents } = await get('/agent/identities');
    const named = agents.filter(({ name }: { name: string }) => name.toLowerCase() === 'foreman');
    expect(named.map((agent: { factory_uid?: string }) => agent.factory_uid ?? null).sort()).toEqual(
      [null, ...factories].sort(),
    );
    await fixture.request(400, 'POST /agent/identities', { token, body: { name: 'foreman' } });
  });

  it('is corrected for agents whose names were exchanged', async () => {
    const factory = await fixture.createFactory();
    const files = { 'factory.yaml': FACTORY, 'agents/one/agent.md': '---\n---\n', 'agents/two/agent.md': '---\n---\n' };
    const plan = await fixture.applyDefinition(factory, files);
    const [one, two] = [entryOf(plan, 'agent', 'one').uid ?? '', entryOf(plan, 'agent', 'two').uid ?? ''];
    const rename = (uid: string, name: string) =>
      fixture.request(200, `PUT /agent/identities/${uid}`, { token: fixture.admin.token, body: { name } });
    await rename(one, 'three');
    await rename(two, 'one');
    await rename(one, 'two');
    expect((await fixture.applyDefinition(factory, files)).summary).toMatchObject({ update: 2 });
    expect(await get(`/agent/identities/${one}`)).toMatchObject({ name: 'one' });
    expect(await get(`/agent/identities/${two}`)).toMatchObject({ name: 'two' });
  });
});

describe('the secret of a webhook', () => {
  const stored = async (uid: string) => {
    const [row] = await fixture.database.query<{ secret_version: number; version: number; sealed_secret: string }>(
      'SELECT secret_version, version, sealed_secret FROM webhooks WHERE uid = $1',
      [uid],
    );
    return row;
  };

  it('is the one of the last apply until the next apply', async () => {
    await fixture.putSecret('pinned', 'first');
    const factory = await fixture.createFactory();
    const files = { 'factory.yaml': FACTORY, 'webhooks/ci.yaml': 'secretName: pinned\n' };
    const uid = entryOf(await fixture.applyDefinition(factory, files), 'webhook', 'ci').uid ?? '';
    const first = await stored(uid);
    expect(first).toMatchObject({ secret_version: 1, version: 1 });
    await fixture.putSecret('pinned', 'second');
    expect(await stored(uid)).toEqual(first);
    const expected = { action: 'update', changes: ['secretVersion'], drifted: false };
    expect(entryOf(await fixture.planDefinition(factory, files), 'webhook', 'ci')).toMatchObject(expected);
    expect(await stored(uid)).toEqual(first);
    expect(entryOf(await fixture.applyDefinition(factory, files), 'webhook', 'ci')).toMatchObject(expected);
    const second = await stored(uid);
    expect(second).toMatchObject({ secret_version: 2, version: 2 });
    expect(second?.sealed_secret).not.toBe(first?.sealed_secret);
    expect(entryOf(await fixture.applyDefinition(factory, files), 'webhook', 'ci').action).toBe('unchanged');
    expect(await stored(uid)).toEqual(second);
  });
});

describe('authorization to apply a definition', () => {
  it.each(['PUT', 'POST', 'GET'] as const)('%s allows admins and owners of the factory’s team only', async (method) => {
    const factory = await fixture.createFactory();
    const line = `${method} ${definitionOf(factory)}${method === 'POST' ? '/validate' : ''}`;
    const body = method === 'GET' ? undefined : { files: filesOf({ 'factory.yaml': FACTORY }) };
    for (const { token } of [fixture.owner, fixture.admin, fixture.adminOfBoth])
      await fixture.request(200, line, { token, body });
    for (const { token } of [fixture.member, fixture.viewer, fixture.bot])
      await fixture.request(403, line, { token, body });
    await fixture.request(404, line, { token: fixture.stranger.token, body });
    await fixture.request(404, line.replace(factory, '0'.repeat(22)), { token: fixture.admin.token, body });
    await fixture.request(400, line.replace(factory, '%20'), { token: fixture.admin.token, body });
    await fixture.request(401, line, { body });
  });
});

describe('the body of an apply', () => {
  it.each([
    ['PUT', ''],
    ['POST', '/validate'],
  ])('%s%s accepts JSON of files up to 8 MiB', async (method, tail) => {
    const line = `${method} ${definitionOf(await fixture.createFactory())}${tail}`;
    const { token } = fixture.admin;
    await fixture.request(400, line, { token, body: {} });
    await fixture.request(400, line, { token, body: { files: [{ path: 'factory.yaml' }] } });
    await fixture.request(400, line, { token, body: { files: [], more: 1 } });
    await fixture.request(415, line, { token, body: 'files', contentType: 'text/plain' });
    const padding = '#'.repeat(250_000);
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`webhooks/w${index}.yaml`, padding]));
    const body = { files: filesOf({ 'factory.yaml': FACTORY, ...many }) };
    await fixture.request(200, `POST ${definitionOf(await fixture.createFactory())}/validate`, { token, body });
    body.files.push({ path: 'webhooks/last.yaml', content: padding });
    await fixture.request(413, line, { token, body });
  });
});
