import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { automation, type DefinitionsRoom, entryOf, type Files, openDefinitionsRoom } from './definitions-room.js';

let room: DefinitionsRoom;
let server: string;
let environment: string;

beforeAll(async () => {
  room = await openDefinitionsRoom();
  await room.putSecret('ci-secret', 'swordfish-1');
  const { token } = room.admin;
  server = (await room.api.request(201, 'POST /mcp-servers', { token, body: { name: 'issues', command: 'x' } })).body
    .uid;
  const body = { config: { name: 'ours' }, team: true };
  environment = (await room.api.request(201, 'POST /environments', { token, body })).body.uid;
});
afterAll(() => room.api.close());

/** Written as people write: comments, odd spaces, quotes, keys in their own order. */
async function handWritten(agent: string): Promise<{ factory: string; hook: string; files: Files }> {
  const factory = await room.newFactory();
  const base = {
    'factory.yaml': `# Ours\nname:   "Builds"\nschemaVersion: v1alpha1\n\nagentDefaults: {model: auto, environmentId: ${environment}}\n`,
    'webhooks/ci.yaml': `enabled: true   # for now\nsecretName: 'ci-secret'\ndeliveryIdHeader: X-Event-ID\n`,
  };
  const hook = entryOf(await room.apply(factory, base), 'webhook', 'ci').uid ?? '';
  const files = {
    ...base,
    [`agents/${agent}/agent.md`]: `---\n# Nothing new\nmcpServers:\n    issues: { warp_id: ${server} }\n---\nYou help.\r\n\r\nAlways.\n\n`,
    'automations/fix/automation.md': automation(hook, `agent: ${agent}\n# why\n`, '  Indented, and {{ payload.x }}.  '),
    'automations/note/automation.md': automation(
      hook,
      'model: gpt-5\nenabled: false\n',
      '# Title\n\n---\n\nAfter a rule.',
    ),
    'skills/logs/SKILL.md': '---\nname: logs\nx-other: [kept]\n---\n\nRead.\n',
    [`agents/${agent}/skills/dig/SKILL.md`]: '---\nname: dig\n---\nDig.',
  };
  await room.apply(factory, files);
  return { factory, hook, files };
}

const unchanged = (body: { summary: object }): void =>
  expect(body.summary).toMatchObject({ create: 0, update: 0, delete: 0 });

describe('exportFactoryDefinition', () => {
  it('gives what was applied byte for byte, and applying that changes nothing', async () => {
    const { factory, files } = await handWritten('verbatim');
    const exported = await room.exported(factory);
    expect(exported).toEqual(files);
    expect(Object.keys(exported)).toEqual(Object.keys(files).sort());
    const before = await room.snapshot();
    unchanged(await room.apply(factory, exported));
    expect(await room.snapshot()).toBe(before);
  });

  it('of a factory that had no definition: factory.yaml, which applies without a change', async () => {
    const factory = await room.newFactory();
    const { token } = room.admin;
    await room.api.request(201, `POST /factories/${factory}/webhooks`, { token, body: { name: 'by-hand' } });
    const exported = await room.exported(factory);
    expect(exported).toEqual({ 'factory.yaml': 'schemaVersion: v1alpha1\nname: Factory\n' });
    unchanged(await room.apply(factory, exported));
  });

  it('writes anew what has drifted, and that alone', async () => {
    const { factory, hook, files } = await handWritten('drifted');
    const { token } = room.admin;
    const plan = await room.dryRun(factory, files);
    const line = `/factories/${factory}/automations/${entryOf(plan, 'automation', 'note').uid ?? ''}`;
    const { body: stored } = await room.api.request(200, `GET ${line}`, { token });
    const { uid: _uid, source: _source, created_at: _created, updated_at: _updated, ...fields } = stored;
    const filter = {
      webhook_ids: [hook],
      payload: { action: { not_in: ['closed', null, 1.5, true] }, 'on: yes': ['no'] },
    };
    await room.api.request(200, `PUT ${line}`, {
      token,
      body: {
        ...fields,
        enabled: true,
        prompt: '\n--- \nTricky: "quotes", #hash\n\n',
        agent_config: { ...fields.agent_config, worker_host: 'big', mcp_servers: { issues: { warp_id: server } } },
        triggers: [{ provider: 'webhook', event: 'received', filter }],
      },
    });
    await room.api.request(200, `PATCH /factories/${factory}/webhooks/${hook}`, {
      token,
      body: { enabled: false, delivery_id_header: null },
    });
    await room.api.request(200, `PUT /agent/identities/${entryOf(plan, 'agent', 'drifted').uid ?? ''}`, {
      token,
      body: { description: 'Says: "a", b', prompt: 'Other.', base_model: 'gpt-5' },
    });
    const exported = await room.exported(factory);
    const rewritten = ['webhooks/ci.yaml', 'agents/drifted/agent.md', 'automations/note/automation.md'];
    expect(
      Object.keys(exported)
        .filter((path) => exported[path] !== files[path])
        .sort(),
    ).toEqual(rewritten.sort());
    expect(exported['webhooks/ci.yaml']).toBe('secretName: ci-secret\nenabled: false\n');
    const before = await room.dryRun(factory, files);
    expect(before.summary).toMatchObject({ update: 3 });
    unchanged(await room.apply(factory, exported));
    expect((await room.api.request(200, `GET ${line}`, { token })).body).toMatchObject({
      enabled: true,
      prompt: '\n--- \nTricky: "quotes", #hash\n\n',
      triggers: [{ filter }],
    });
    // From now on these are the files.
    expect(await room.exported(factory)).toEqual(exported);
    const snapshot = await room.snapshot();
    unchanged(await room.apply(factory, exported));
    expect(await room.snapshot()).toBe(snapshot);
  });

  it('has nothing of what was deleted through the API', async () => {
    const { factory, files } = await handWritten('deleted');
    const { token } = room.admin;
    const plan = await room.dryRun(factory, files);
    const note = entryOf(plan, 'automation', 'note').uid ?? '';
    await room.api.request(204, `DELETE /factories/${factory}/automations/${note}`, { token });
    const { 'automations/note/automation.md': _note, ...others } = files;
    expect(await room.exported(factory)).toEqual(others);
    unchanged(await room.apply(factory, others));
  });
});
