import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiFixture, type Files } from '../../support/api-fixture.js';
import { automation, entryOf, definitionRows } from './definition-plans.js';

let fixture: ApiFixture;
let server: string;
let environment: string;

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.putSecret('ci-secret', 'swordfish-1');
  const { token } = fixture.admin;
  server = (await fixture.request(201, 'POST /mcp-servers', { token, body: { name: 'issues', command: 'x' } })).body
    .uid;
  const body = { config: { name: 'ours' }, team: true };
  environment = (await fixture.request(201, 'POST /environments', { token, body })).body.uid;
});
afterAll(() => fixture.close());

/** Written as people write: comments, odd spaces, quotes, keys in their own order. */
async function handWritten(agent: string): Promise<{ factory: string; hook: string; files: Files }> {
  const factory = await fixture.createFactory();
  const base = {
    'factory.yaml': `# Ours\nname:   "Builds"\nschemaVersion: v1alpha1\n\nagentDefaults: {model: auto, environmentId: ${environment}}\n`,
    'webhooks/ci.yaml': `enabled: true   # for now\nsecretName: 'ci-secret'\ndeliveryIdHeader: X-Event-ID\n`,
  };
  const hook = entryOf(await fixture.applyDefinition(factory, base), 'webhook', 'ci').uid ?? '';
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
  await fixture.applyDefinition(factory, files);
  return { factory, hook, files };
}

const unchanged = (body: { summary: object }): void =>
  expect(body.summary).toMatchObject({ create: 0, update: 0, delete: 0 });

describe('exportFactoryDefinition', () => {
  it('returns the applied files byte for byte, and applying them changes nothing', async () => {
    const { factory, files } = await handWritten('verbatim');
    const exported = await fixture.exportDefinition(factory);
    expect(exported).toEqual(files);
    expect(Object.keys(exported)).toEqual(Object.keys(files).sort());
    const before = await definitionRows(fixture);
    unchanged(await fixture.applyDefinition(factory, exported));
    expect(await definitionRows(fixture)).toBe(before);
  });

  it('returns a factory.yaml for a factory without a definition, which applies without a change', async () => {
    const factory = await fixture.createFactory();
    const { token } = fixture.admin;
    await fixture.request(201, `POST /factories/${factory}/webhooks`, { token, body: { name: 'by-hand' } });
    const exported = await fixture.exportDefinition(factory);
    expect(exported).toEqual({ 'factory.yaml': 'schemaVersion: v1alpha1\nname: Factory\n' });
    unchanged(await fixture.applyDefinition(factory, exported));
  });

  it('rewrites only files that have drifted', async () => {
    const { factory, hook, files } = await handWritten('drifted');
    const { token } = fixture.admin;
    const plan = await fixture.planDefinition(factory, files);
    const line = `/factories/${factory}/automations/${entryOf(plan, 'automation', 'note').uid ?? ''}`;
    const { body: stored } = await fixture.request(200, `GET ${line}`, { token });
    const { uid: _uid, source: _source, created_at: _created, updated_at: _updated, ...fields } = stored;
    const filter = {
      webhook_ids: [hook],
      payload: { action: { not_in: ['closed', null, 1.5, true] }, 'on: yes': ['no'] },
    };
    await fixture.request(200, `PUT ${line}`, {
      token,
      body: {
        ...fields,
        enabled: true,
        prompt: '\n--- \nTricky: "quotes", #hash\n\n',
        agent_config: { ...fields.agent_config, worker_host: 'big', mcp_servers: { issues: { warp_id: server } } },
        triggers: [{ provider: 'webhook', event: 'received', filter }],
      },
    });
    await fixture.request(200, `PATCH /factories/${factory}/webhooks/${hook}`, {
      token,
      body: { enabled: false, delivery_id_header: null },
    });
    await fixture.request(200, `PUT /agent/identities/${entryOf(plan, 'agent', 'drifted').uid ?? ''}`, {
      token,
      body: { description: 'Says: "a", b', prompt: 'Other.', base_model: 'gpt-5' },
    });
    const exported = await fixture.exportDefinition(factory);
    const rewritten = ['webhooks/ci.yaml', 'agents/drifted/agent.md', 'automations/note/automation.md'];
    expect(
      Object.keys(exported)
        .filter((path) => exported[path] !== files[path])
        .sort(),
    ).toEqual(rewritten.sort());
    expect(exported['webhooks/ci.yaml']).toBe('secretName: ci-secret\nenabled: false\n');
    const before = await fixture.planDefinition(factory, files);
    expect(before.summary).toMatchObject({ update: 3 });
    unchanged(await fixture.applyDefinition(factory, exported));
    expect((await fixture.request(200, `GET ${line}`, { token })).body).toMatchObject({
      enabled: true,
      prompt: '\n--- \nTricky: "quotes", #hash\n\n',
      triggers: [{ filter }],
    });
    // From now on these are the files.
    expect(await fixture.exportDefinition(factory)).toEqual(exported);
    const snapshot = await definitionRows(fixture);
    unchanged(await fixture.applyDefinition(factory, exported));
    expect(await definitionRows(fixture)).toBe(snapshot);
  });

  it('omits resources that were deleted through the API', async () => {
    const { factory, files } = await handWritten('deleted');
    const { token } = fixture.admin;
    const plan = await fixture.planDefinition(factory, files);
    const note = entryOf(plan, 'automation', 'note').uid ?? '';
    await fixture.request(204, `DELETE /factories/${factory}/automations/${note}`, { token });
    const { 'automations/note/automation.md': _note, ...others } = files;
    expect(await fixture.exportDefinition(factory)).toEqual(others);
    unchanged(await fixture.applyDefinition(factory, others));
  });
});
