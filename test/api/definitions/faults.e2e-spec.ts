import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUid } from '#platform/kernel';
import { ApiFixture, definitionOf, type Files, filesOf } from '../../support/api-fixture.js';
import { FACTORY, automation, entryOf, definitionRows } from './definition-plans.js';

let fixture: ApiFixture;
let factory: string;
let hook: string;
/** Of another team. */
let foreign: { environment: string; server: string };

const WEBHOOK = 'secretName: ci-secret\n';
const BASE: Files = { 'factory.yaml': FACTORY, 'webhooks/ci.yaml': WEBHOOK };
const AUTOMATION = 'automations/fix/automation.md';
const AGENT = 'agents/helper/agent.md';

beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.putSecret('ci-secret', 'swordfish-1');
  await fixture.putSecret('with-spaces', 'not safe in a URL');
  factory = await fixture.createFactory();
  hook = entryOf(await fixture.applyDefinition(factory, BASE), 'webhook', 'ci').uid ?? '';
  const { token } = fixture.admin;
  await fixture.request(201, `POST /factories/${factory}/webhooks`, { token, body: { name: 'by-hand' } });
  const other = await fixture.createFactory();
  await fixture.applyDefinition(other, { 'factory.yaml': `${FACTORY}alias: taken\n` });
  const of = { token: fixture.stranger.token };
  const environment = await fixture.request(201, 'POST /environments', {
    ...of,
    body: { config: { name: 'theirs' }, team: true },
  });
  const server = await fixture.request(201, 'POST /mcp-servers', { ...of, body: { name: 'theirs', command: 'x' } });
  foreign = { environment: environment.body.uid, server: server.body.uid };
});
afterAll(() => fixture.close());

type Fault = readonly [name: string, files: () => Files, code: string, place: string, says?: RegExp];

const withFactory = (lines: string): Files => ({ ...BASE, 'factory.yaml': `${FACTORY}${lines}` });
const withWebhook = (content: string): Files => ({ ...BASE, 'webhooks/other.yaml': content });
const withAutomation = (content: string): Files => ({ ...BASE, [AUTOMATION]: content });
const withAgent = (lines: string): Files => ({ ...BASE, [AGENT]: `---\n${lines}---\n\nYou help.\n` });
const filtered = (filter: string): Files =>
  withAutomation(automation(hook).replace(`[${hook}]`, `[${hook}]\n      payload:\n${filter}`));

const FAULTS: readonly Fault[] = [
  ['no factory.yaml', () => ({ 'webhooks/ci.yaml': WEBHOOK }), 'missing_file', 'factory.yaml:1:1'],
  ['a file that belongs nowhere', () => ({ ...BASE, 'readme.txt': 'Hello' }), 'unexpected_file', 'readme.txt:1:1'],
  ['a path that leaves the definition', () => ({ ...BASE, '../x.yaml': '' }), 'unsafe_path', '../x.yaml:1:1'],
  ['broken YAML', () => withWebhook('secretName: "ci-secret\n'), 'yaml_syntax', 'webhooks/other.yaml:2:1'],
  [
    'an unknown key',
    () => withWebhook(`${WEBHOOK}enable: true\n`),
    'unknown_key',
    'webhooks/other.yaml:2:1',
    /enabled/,
  ],
  ['a key given twice', () => withWebhook(`${WEBHOOK}${WEBHOOK}`), 'duplicate_key', 'webhooks/other.yaml:2:1'],
  ['a YAML anchor', () => withWebhook('secretName: &name ci-secret\n'), 'yaml_anchor', 'webhooks/other.yaml:1:13'],
  ['a YAML tag', () => withWebhook('secretName: !!str ci-secret\n'), 'yaml_tag', 'webhooks/other.yaml:1:13'],
  [
    'a value of another type',
    () => withWebhook(`${WEBHOOK}enabled: "yes"\n`),
    'wrong_type',
    'webhooks/other.yaml:2:10',
  ],
  ['no secretName', () => withWebhook('authMode: token\n'), 'missing_key', 'webhooks/other.yaml:1:1'],
  ['no front matter', () => withAutomation('Do something.\n'), 'missing_front_matter', `${AUTOMATION}:1:1`],
  [
    'an agent that the definition lacks',
    () => withAutomation(automation(hook, 'agent: nobody\n')),
    'unknown_agent',
    `${AUTOMATION}:2:8`,
  ],
  [
    'a worker with a reserved name',
    () => withAgent('description: Helps\nworkerHost: warp-1\n'),
    'invalid_value',
    `${AGENT}:3:13`,
    /`warp`/,
  ],
  [
    'a worker of an automation with a reserved name',
    () => withAutomation(automation(hook, 'workerHost: WARP\n')),
    'invalid_value',
    `${AUTOMATION}:2:13`,
    /`warp`/,
  ],
  [
    'an unknown kind of trigger',
    () => withAutomation(automation(hook).replace('webhook\n', 'webhok\n')),
    'unknown_trigger',
    `${AUTOMATION}:3:15`,
    /webhook/,
  ],
  [
    'a secret that does not exist',
    () => withWebhook('enabled: true\nsecretName: nowhere\n'),
    'unusable_secret',
    'webhooks/other.yaml:2:13',
    /no secret has this name/,
  ],
  [
    'a secret that no URL can hold',
    () => withWebhook('authMode: url_token\nsecretName: with-spaces\n'),
    'unusable_secret',
    'webhooks/other.yaml:2:13',
  ],
  [
    'an unknown signature scheme',
    () => withWebhook(`authMode: signature\nsignatureScheme: gihub\n${WEBHOOK}`),
    'unknown_signature_scheme',
    'webhooks/other.yaml:2:18',
    /github/,
  ],
  [
    'a header that carries credentials',
    () => withWebhook(`${WEBHOOK}deliveryIdHeader: Authorization\n`),
    'invalid_header',
    'webhooks/other.yaml:2:19',
  ],
  [
    'the name of a webhook of the API',
    () => ({ ...BASE, 'webhooks/by-hand.yaml': WEBHOOK }),
    'name_taken',
    'webhooks/by-hand.yaml:1:1',
  ],
  [
    'a webhook’s name for its UID',
    () => withAutomation(automation('ci')),
    'webhook_name_instead_of_uid',
    `${AUTOMATION}:6:21`,
  ],
  [
    'the name of a webhook that is still to come',
    () => ({ ...withWebhook(WEBHOOK), [AUTOMATION]: automation('other') }),
    'webhook_name_instead_of_uid',
    `${AUTOMATION}:6:21`,
    /apply the webhooks/,
  ],
  ['a UID of no webhook', () => withAutomation(automation(newUid())), 'unknown_webhook', `${AUTOMATION}:6:21`],
  [
    'a webhook that the files delete',
    () => ({ 'factory.yaml': FACTORY, [AUTOMATION]: automation(hook) }),
    'unknown_webhook',
    `${AUTOMATION}:6:21`,
    /the webhook ci/,
  ],
  [
    'two webhooks in one trigger',
    () => withAutomation(automation(`${hook}, ${hook}`)),
    'invalid_value',
    `${AUTOMATION}:6:20`,
  ],
  [
    'a bare scalar in a payload filter',
    () => filtered('        action: opened\n'),
    'invalid_payload_filter',
    `${AUTOMATION}:8:17`,
    /array/,
  ],
  [
    'a misspelt operator in a payload filter',
    () => filtered('        action:\n          not_inn: [a]\n          in: [b]\n'),
    'invalid_payload_filter',
    `${AUTOMATION}:9:20`,
    /not_in/,
  ],
  ['no prompt', () => withAutomation(automation(hook, '', '')), 'empty_prompt', `${AUTOMATION}:8:1`],
  [
    'an environment of another team',
    () => withAutomation(automation(hook, `environmentId: ${foreign.environment}\n`)),
    'unusable_environment',
    `${AUTOMATION}:2:16`,
  ],
  [
    'an environment of another team, of an agent',
    () => withAgent(`model: auto\nenvironmentId: ${foreign.environment}\n`),
    'unusable_environment',
    `${AGENT}:3:16`,
  ],
  [
    'an environment that does not exist, by default',
    () => withFactory(`agentDefaults:\n  environmentId: ${newUid()}\n`),
    'unusable_environment',
    'factory.yaml:4:18',
  ],
  [
    'an MCP server of another team',
    () => withAgent(`mcpServers:\n  issues:\n    warp_id: ${foreign.server}\n`),
    'unusable_mcp_server',
    `${AGENT}:4:14`,
  ],
  [
    'an MCP server with a command',
    () => withAgent(`mcpServers:\n  issues:\n    command: sh\n    warp_id: ${newUid()}\n`),
    'unknown_key',
    `${AGENT}:4:5`,
  ],
  ['the alias of another factory', () => withFactory('alias: taken\n'), 'alias_taken', 'factory.yaml:3:8'],
  ['text that no database keeps', () => withFactory('description: "a\\0b"\n'), 'not_text', 'factory.yaml:3:14'],
];

interface Diagnostic {
  readonly code: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const placeOf = ({ path, line, column }: Diagnostic): string => `${path}:${line}:${column}`;

/** Refused by both operations, in the same words. */
async function diagnosticsOf(files: Files): Promise<readonly Diagnostic[]> {
  const { body: verdict } = await fixture.request(200, `POST ${definitionOf(factory)}/validate`, {
    token: fixture.admin.token,
    body: { files: filesOf(files) },
  });
  expect(verdict.valid).toBe(false);
  const problem = await fixture.applyDefinition(factory, files, 400);
  expect(problem).toMatchObject({ error_code: 'invalid_request', retryable: false, diagnostics: verdict.diagnostics });
  const paths = Object.keys(files);
  expect(problem.errors).toEqual(
    (verdict.diagnostics as Diagnostic[]).map((one) => ({
      pointer: paths.includes(one.path) ? `/files/${paths.indexOf(one.path)}/content` : '/files',
      detail: `${placeOf(one)}: ${one.message}`,
    })),
  );
  return verdict.diagnostics;
}

describe('a definition with an error changes nothing and reports the position', () => {
  it.each(FAULTS.map(([name, ...fault]) => ({ name, fault })))('$name', async ({ fault }) => {
    const [files, code, place, says = /./] = fault;
    // Beside the fault there is much that could be done.
    const eager = { ...files(), 'webhooks/new.yaml': WEBHOOK, 'agents/new/agent.md': '---\n---\n\nNew.\n' };
    const before = await definitionRows(fixture);
    const [first, ...more] = await diagnosticsOf(eager);
    expect(await definitionRows(fixture)).toBe(before);
    expect(more).toEqual([]);
    expect(first && { code: first.code, place: placeOf(first) }).toEqual({ code, place });
    expect(first?.message).toMatch(says);
  });

  it('returns all errors at once, by path and line', async () => {
    const found = await diagnosticsOf({
      ...withWebhook('enabled: true\nsecretName: nowhere\n'),
      [AGENT]: `---\nenvironmentId: ${newUid()}\n---\n`,
      [AUTOMATION]: automation('ci', `environmentId: ${newUid()}\n`),
    });
    expect(found.map((one) => `${one.code} ${placeOf(one)}`)).toEqual([
      `unusable_environment ${AGENT}:2:16`,
      `unusable_environment ${AUTOMATION}:2:16`,
      `webhook_name_instead_of_uid ${AUTOMATION}:7:21`,
      'unusable_secret webhooks/other.yaml:2:13',
    ]);
  });

  it('returns an error of the defaults once, at its position', async () => {
    const found = await diagnosticsOf({
      ...withFactory(`agentDefaults:\n  environmentId: ${newUid()}\n`),
      [AGENT]: '---\n---\n',
      [AUTOMATION]: automation(hook),
    });
    expect(found.map(placeOf)).toEqual(['factory.yaml:4:18']);
  });

  it('returns the uid of a resource whose name is in use', async () => {
    const [found] = await diagnosticsOf(withAutomation(automation('webhooks/ci.yaml')));
    expect(found?.message).toContain(hook);
  });
});

describe('limits', () => {
  it('reject the 21st webhook', async () => {
    const names = Array.from({ length: 19 }, (_, index) => `hook-${String(index).padStart(2, '0')}`);
    const files = { ...BASE, ...Object.fromEntries(names.map((name) => [`webhooks/${name}.yaml`, WEBHOOK])) };
    const before = await definitionRows(fixture);
    // With the one that was made by hand there are 21.
    const found = await diagnosticsOf(files);
    expect(found.map((one) => `${one.code} ${placeOf(one)}`)).toEqual(['limit_reached webhooks/hook-18.yaml:1:1']);
    expect(await definitionRows(fixture)).toBe(before);
    const { 'webhooks/ci.yaml': _freed, ...others } = files;
    expect((await fixture.planDefinition(factory, others)).summary).toMatchObject({ create: 19, delete: 1 });
  });

  it('reject the 2,001st automation', async () => {
    const full = await fixture.createFactory();
    const uid = entryOf(await fixture.applyDefinition(full, BASE), 'webhook', 'ci').uid ?? '';
    await fixture.database.query('INSERT INTO automation_counts (factory_uid, used) VALUES ($1, 1999)', [full]);
    const files = {
      ...BASE,
      'automations/a/automation.md': automation(uid),
      'automations/b/automation.md': automation(uid),
    };
    const before = await definitionRows(fixture);
    const problem = await fixture.applyDefinition(full, files, 400);
    expect(problem.diagnostics).toMatchObject([
      { code: 'limit_reached', path: 'automations/b/automation.md', line: 1 },
    ]);
    expect(await definitionRows(fixture)).toBe(before);
  });
});
