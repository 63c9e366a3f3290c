import { describe, expect, it } from 'vitest';
import { PAYLOAD_FILTER_SCHEMA } from '#domain/automations';
import { type DefinitionFile, type Diagnostic, MAX_DIAGNOSTICS, MAX_FILE_BYTES } from '../definition.js';
import { readDefinition } from './read-definition.js';
import type { KnownParts } from '../schema/definition-schemas.js';

const UID = 'A'.repeat(22);
const KNOWN: KnownParts = {
  triggers: [
    {
      provider: 'schedule',
      event: 'cron_fired',
      schema: { properties: { cron: { type: 'string', maxLength: 20 } }, required: ['cron'] },
    },
    {
      provider: 'webhook',
      event: 'received',
      schema: {
        properties: {
          filter: {
            type: 'object',
            properties: {
              webhook_ids: {
                type: 'array',
                items: { type: 'string', pattern: '^[A-Za-z0-9]{22}$' },
                minItems: 1,
                maxItems: 1,
              },
              payload: PAYLOAD_FILTER_SCHEMA,
            },
            required: ['webhook_ids'],
            additionalProperties: false,
          },
        },
        required: ['filter'],
      },
    },
  ],
};

const FACTORY = 'schemaVersion: v1alpha1\nname: CI\n';
const WEBHOOK = 'secretName: ci-token\n';
const AUTOMATION = `---
triggers:
  - provider: webhook
    event: received
    filter:
      webhook_ids: [${UID}]
---
Fix it.
`;
const AGENT = '---\nmodel: auto\n---\nYou fix builds.\n';
const GOOD: Readonly<Record<string, string>> = {
  'factory.yaml': FACTORY,
  'webhooks/ci.yaml': WEBHOOK,
  'automations/fix/automation.md': AUTOMATION,
  'agents/fixer/agent.md': AGENT,
};

const filesOf = (contents: Readonly<Record<string, string>>): DefinitionFile[] =>
  Object.entries(contents).map(([path, content]) => ({ path, content }));

/** A right definition but for these files. */
const read = (changed: Readonly<Record<string, string>>) => readDefinition(filesOf({ ...GOOD, ...changed }), KNOWN);

function diagnosticsOf(changed: Readonly<Record<string, string>>): readonly Diagnostic[] {
  const result = read(changed);
  return result.kind === 'invalid' ? result.diagnostics : [];
}

function definitionOf(changed: Readonly<Record<string, string>>) {
  const result = read(changed);
  if (result.kind === 'invalid') throw new Error(JSON.stringify(result.diagnostics, null, 2));
  return result;
}

/** `code path:line:column`, the rest being prose. */
const places = (changed: Readonly<Record<string, string>>): string[] =>
  diagnosticsOf(changed).map(({ code, path, line, column }) => `${code} ${path}:${line}:${column}`);

const webhook = (content: string) => ({ 'webhooks/ci.yaml': content });
const factory = (content: string) => ({ 'factory.yaml': content });
const automation = (content: string) => ({ 'automations/fix/automation.md': content });
const agent = (content: string) => ({ 'agents/fixer/agent.md': content });
/** An automation with this as its front matter, from line 2. */
const front = (yaml: string) => automation(`---\n${yaml}\n---\nFix it.\n`);
/** One with a right trigger in lines 2 to 4, and this from line 5. */
const beside = (yaml: string) =>
  front(`triggers:\n  - {provider: schedule, event: cron_fired, cron: "@daily"}\n${yaml}`);

interface Fault {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** `code path:line:column`, of all diagnostics. */
  readonly at: string | readonly string[];
  /** What the first message has to say. */
  readonly says?: RegExp;
}

const HOOK = 'webhooks/ci.yaml';
const AUTO = 'automations/fix/automation.md';

// oxfmt-ignore
const FAULTS: readonly Fault[] = [
  // Files
  { name: 'a file that belongs nowhere', files: { 'notes.txt': 'x' }, at: 'unexpected_file notes.txt:1:1', says: /webhooks\/<name>\.yaml/ },
  { name: 'the other ending of YAML', files: { 'webhooks/x.yml': WEBHOOK }, at: 'unexpected_file webhooks/x.yml:1:1', says: /webhooks\/x\.yaml/ },
  { name: 'upper case in a directory', files: { 'Webhooks/x.yaml': WEBHOOK }, at: 'unexpected_file Webhooks/x.yaml:1:1', says: /did you mean webhooks\/x\.yaml/ },
  { name: 'a skill in lower case', files: { 'skills/x/skill.md': 'x' }, at: 'unexpected_file skills/x/skill.md:1:1', says: /skills\/x\/SKILL\.md/ },
  { name: 'a skill without a directory', files: { 'skills/SKILL.md': 'x' }, at: 'unexpected_file skills/SKILL.md:1:1', says: /separate directory/ },
  { name: 'a hidden directory of a skill', files: { 'skills/.git/SKILL.md': 'x' }, at: 'invalid_name skills/.git/SKILL.md:1:1' },
  { name: 'a name in upper case', files: { 'webhooks/CI2.yaml': WEBHOOK }, at: 'invalid_name webhooks/CI2.yaml:1:1', says: /lower-case/ },
  { name: 'a name that is too long', files: { [`agents/${'a'.repeat(64)}/agent.md`]: AGENT }, at: `invalid_name agents/${'a'.repeat(64)}/agent.md:1:1` },
  { name: 'a way out of the definition', files: { 'webhooks/../../x.yaml': WEBHOOK }, at: 'unsafe_path webhooks/../../x.yaml:1:1' },
  { name: 'an absolute path', files: { '/webhooks/x.yaml': WEBHOOK }, at: 'unsafe_path /webhooks/x.yaml:1:1' },
  { name: 'a path of Windows', files: { 'webhooks\\x.yaml': WEBHOOK }, at: 'unsafe_path webhooks\\x.yaml:1:1' },
  { name: 'a path that moves the cursor', files: { 'webhooks/\u001b[2J.yaml': WEBHOOK }, at: 'unsafe_path webhooks/\uFFFD[2J.yaml:1:1' },
  { name: 'paths that differ in case only', files: { 'skills/a/SKILL.md': 'x', 'skills/A/SKILL.md': 'x' }, at: 'path_collision skills/A/SKILL.md:1:1', says: /skills\/a\/SKILL\.md/ },
  { name: 'a file that is too large', files: webhook(`# ${'x'.repeat(MAX_FILE_BYTES)}`), at: `file_too_large ${HOOK}:1:1` },
  { name: 'NUL', files: webhook('secretName: "a\0"\n'), at: `not_text ${HOOK}:1:1` },
  { name: 'half a character', files: webhook('secretName: "\ud800"\n'), at: `not_text ${HOOK}:1:1` },
  { name: 'a skill of an agent that is not there', files: { 'agents/who/skills/x/SKILL.md': 'x' }, at: 'missing_file agents/who/skills/x/SKILL.md:1:1', says: /agents\/who\/agent\.md/ },
  // YAML
  { name: 'a quote that is not closed', files: webhook('secretName: "ci\nenabled: true\n'), at: `yaml_syntax ${HOOK}:3:1`, says: /quote/ },
  { name: 'a bracket that is not closed', files: webhook('secretName: [a\n'), at: `yaml_syntax ${HOOK}:2:1`, says: /\]/ },
  { name: 'a key without a colon', files: webhook('enabled: true\nsecretName\n'), at: `yaml_syntax ${HOOK}:2:1` },
  { name: 'a second colon', files: webhook('secretName: a: b\n'), at: `yaml_syntax ${HOOK}:1:13`, says: /quotes/ },
  { name: 'indentation that fits nothing', files: factory('schemaVersion: v1alpha1\nname: CI\n  alias: x\n'), at: 'yaml_syntax factory.yaml:2:7' },
  { name: 'a tab as indentation', files: factory(`${FACTORY}agentDefaults:\n\tmodel: auto\n`), at: 'yaml_syntax factory.yaml:4:1', says: /[Tt]ab/ },
  { name: 'a duplicate key', files: webhook('secretName: a\nenabled: true\nsecretName: b\n'), at: `duplicate_key ${HOOK}:3:1`, says: /secretName/ },
  { name: 'a duplicate key, deep inside', files: beside('mcpServers:\n  docs:\n    warp_id: '+UID+'\n    warp_id: '+UID), at: `duplicate_key ${AUTO}:7:5` },
  { name: 'an anchor', files: webhook('secretName: &name ci\n'), at: `yaml_anchor ${HOOK}:1:13` },
  { name: 'an anchor on a list', files: beside('mcpServers: &all {}'), at: `yaml_anchor ${AUTO}:4:13` },
  { name: 'an alias', files: webhook('secretName: *name\n'), at: `yaml_alias ${HOOK}:1:13` },
  { name: 'an anchor and its alias', files: webhook('secretName: &n ci\nsignatureScheme: *n\n'), at: [`yaml_anchor ${HOOK}:1:13`, `yaml_alias ${HOOK}:2:18`] },
  { name: 'a tag', files: webhook('secretName: !!str ci\n'), at: `yaml_tag ${HOOK}:1:13` },
  { name: 'a custom tag on a mapping', files: beside('mcpServers: !servers\n  docs: {warp_id: '+UID+'}'), at: `yaml_tag ${AUTO}:4:13` },
  { name: 'a merge key', files: beside('mcpServers:\n  <<: {docs: {warp_id: '+UID+'}}'), at: `yaml_merge_key ${AUTO}:5:3` },
  { name: 'a directive', files: webhook('%YAML 1.1\n---\nsecretName: ci\n'), at: `yaml_directive ${HOOK}:1:1` },
  { name: 'two documents', files: webhook('secretName: ci\n---\nsecretName: cd\n'), at: `yaml_several_documents ${HOOK}:2:1` },
  { name: 'a key that is a number', files: webhook('secretName: ci\n1: x\n'), at: `non_string_key ${HOOK}:2:1` },
  { name: 'a key that is a list', files: webhook('secretName: ci\n? [a]\n: x\n'), at: `non_string_key ${HOOK}:2:3` },
  { name: 'a key that is nothing', files: webhook('secretName: ci\n: x\n'), at: `non_string_key ${HOOK}:2:1` },
  { name: 'infinity', files: webhook('secretName: ci\nenabled: .inf\n'), at: `not_json ${HOOK}:2:10` },
  { name: 'a NUL in a value', files: { 'factory.yaml': `${FACTORY}alias: "a\\0b"\n` }, at: 'not_text factory.yaml:3:8' },
  { name: 'half a character, by an escape', files: { 'factory.yaml': `${FACTORY}alias: "\\ud800"\n` }, at: 'not_text factory.yaml:3:8' },
  {
    name: 'a NUL in a key',
    files: { 'factory.yaml': `${FACTORY}agentDefaults:\n  mcpServers:\n    "\\0": {warp_id: ${'x'.repeat(22)}}\n` },
    at: 'not_text factory.yaml:5:5',
  },
  { name: 'too many levels', files: webhook(`secretName: ${'['.repeat(70)}${']'.repeat(70)}\n`), at: `yaml_too_deep ${HOOK}:1:76` },
  // Front matter
  { name: 'no front matter', files: automation('Fix it.\n'), at: `missing_front_matter ${AUTO}:1:1` },
  { name: 'front matter that does not begin at once', files: automation(`\n${AUTOMATION}`), at: `missing_front_matter ${AUTO}:1:1` },
  { name: 'front matter that is not closed', files: automation('---\nenabled: true\nFix it.\n'), at: `unclosed_front_matter ${AUTO}:1:1` },
  { name: 'a fault in front matter after CRLF', files: automation(AUTOMATION.replace('triggers', 'enabled: 1\ntriggers').replaceAll('\n', '\r\n')), at: `wrong_type ${AUTO}:2:10` },
  { name: 'a fault in front matter after a byte order mark', files: automation(`\uFEFF${AUTOMATION.replace('triggers', 'modle: x\ntriggers')}`), at: `unknown_key ${AUTO}:2:1` },
  { name: 'a fault in the first line after a byte order mark', files: webhook('\uFEFFsecret_name: ci\nsecretName: ci\n'), at: `unknown_key ${HOOK}:1:1` },
  { name: 'no prompt', files: automation(AUTOMATION.replace('Fix it.', ' \n\t')), at: `empty_prompt ${AUTO}:8:1` },
  { name: 'a prompt that is too long', files: agent(`---\n---\n\n${'é'.repeat(32_769)}\n`), at: 'prompt_too_long agents/fixer/agent.md:4:1' },
  { name: 'malformed front matter of a skill', files: { 'skills/x/SKILL.md': '---\nname: [\n---\nRead.\n' }, at: 'yaml_syntax skills/x/SKILL.md:3:1' },
  { name: 'front matter of a skill that is not closed', files: { 'skills/x/SKILL.md': '---\nname: x\n' }, at: 'unclosed_front_matter skills/x/SKILL.md:1:1' },
  { name: 'a skill’s name that is no text', files: { 'skills/x/SKILL.md': '---\nname: 7\n---\nRead.\n' }, at: 'wrong_type skills/x/SKILL.md:2:7' },
  // Keys and values
  { name: 'an unknown key that is nearly right', files: webhook('secretName: ci\nauthmode: token\n'), at: `unknown_key ${HOOK}:2:1`, says: /Did you mean authMode\?/ },
  { name: 'an unknown key that is nothing like any', files: webhook('secretName: ci\nzzz: 1\n'), at: `unknown_key ${HOOK}:2:1`, says: /Known are authMode/ },
  { name: 'an unknown key of the defaults', files: factory(`${FACTORY}agentDefaults:\n  modle: auto\n`), at: 'unknown_key factory.yaml:4:3', says: /in agentDefaults\. Did you mean model\?/ },
  { name: 'a secret', files: webhook('secretName: ci\nsecret: swordfish\n'), at: `secret_in_file ${HOOK}:2:1`, says: /secretName/ },
  { name: 'a secret by another name', files: webhook('secretName: ci\nwebhookToken: swordfish\n'), at: `secret_in_file ${HOOK}:2:1` },
  { name: 'a server with a variable', files: beside(`mcpServers:\n  docs:\n    warp_id: ${UID}\n    env: {TOKEN: swordfish}`), at: `secret_in_file ${AUTO}:7:5`, says: /POST \/mcp-servers/ },
  { name: 'a server with an address', files: beside('mcpServers:\n  docs:\n    url: https://docs.example.com'), at: [`missing_key ${AUTO}:6:5`, `unknown_key ${AUTO}:6:5`] },
  { name: 'a server that is only a UID', files: beside(`mcpServers:\n  docs: ${UID}`), at: `wrong_type ${AUTO}:5:9` },
  { name: 'a server without a name', files: beside(`mcpServers:\n  "": {warp_id: ${UID}}`), at: `invalid_value ${AUTO}:5:3` },
  { name: 'no schema version', files: factory('name: CI\n'), at: 'missing_key factory.yaml:1:1', says: /schemaVersion/ },
  { name: 'a schema version of another time', files: factory('name: CI\nschemaVersion: v2\n'), at: 'unsupported_schema_version factory.yaml:2:16', says: /v1alpha1/ },
  { name: 'an empty file', files: webhook(''), at: `missing_key ${HOOK}:1:1`, says: /secretName/ },
  { name: 'a file with a comment only', files: webhook('# soon\n'), at: `missing_key ${HOOK}:1:1` },
  { name: 'a file that is a list', files: webhook('- secretName: ci\n'), at: `wrong_type ${HOOK}:1:1`, says: /mapping/ },
  { name: 'a file that says null', files: webhook('null\n'), at: `wrong_type ${HOOK}:1:1` },
  { name: 'a value that is left out', files: webhook('enabled: true\nsecretName:\n'), at: `wrong_type ${HOOK}:2:1`, says: /secretName must be text/ },
  { name: 'a name that is blank', files: factory('schemaVersion: v1alpha1\nname: "  "\n'), at: 'invalid_value factory.yaml:2:7', says: /blank/ },
  { name: 'a number where text belongs', files: webhook('secretName: 12\n'), at: `wrong_type ${HOOK}:1:13` },
  { name: 'text where a truth value belongs', files: webhook('secretName: ci\nenabled: yes\n'), at: `wrong_type ${HOOK}:2:10`, says: /true or false/ },
  { name: 'a secret’s name that is none', files: webhook('secretName: a b\n'), at: `invalid_value ${HOOK}:1:13` },
  { name: 'an unknown mode', files: webhook('secretName: ci\nauthMode: signatur\n'), at: `invalid_value ${HOOK}:2:11`, says: /Did you mean signature\?/ },
  { name: 'signature mode without a scheme', files: webhook('authMode: signature\nsecretName: ci\n'), at: `missing_key ${HOOK}:1:1`, says: /signatureScheme/ },
  { name: 'a scheme without signature mode', files: webhook('secretName: ci\nsignatureScheme: github\n'), at: `unexpected_key ${HOOK}:2:1`, says: /authMode: signature/ },
  { name: 'an environment that is no UID', files: beside('environmentId: staging'), at: `invalid_value ${AUTO}:4:16`, says: /UID/ },
  { name: 'no triggers', files: front('enabled: true'), at: `missing_key ${AUTO}:2:1`, says: /triggers/ },
  { name: 'an empty list of triggers', files: front('triggers: []'), at: `invalid_value ${AUTO}:2:11`, says: /at least 1 entry/ },
  { name: 'triggers that are no list', files: front('triggers:\n  provider: webhook'), at: `wrong_type ${AUTO}:3:3` },
  { name: 'an unknown provider', files: front('triggers:\n  - provider: webhok\n    event: received'), at: `unknown_trigger ${AUTO}:3:15`, says: /schedule, webhook\. Did you mean webhook/ },
  { name: 'an unknown event', files: front('triggers:\n  - provider: webhook\n    event: cron_fired'), at: `unknown_trigger ${AUTO}:4:12`, says: /must be received/ },
  { name: 'a trigger without an event', files: front('triggers:\n  - provider: webhook'), at: `missing_key ${AUTO}:3:5`, says: /triggers\[0\] needs event/ },
  { name: 'a trigger’s field that another provider has', files: front('triggers:\n  - provider: schedule\n    event: cron_fired\n    cron: x\n    filter: {}'), at: `unknown_key ${AUTO}:6:5` },
  { name: 'a trigger without a field of its provider', files: front('triggers:\n  - {provider: schedule, event: cron_fired}'), at: `missing_key ${AUTO}:3:5`, says: /cron/ },
  { name: 'a trigger’s field that is too long', files: front(`triggers:\n  - {provider: schedule, event: cron_fired, cron: ${'x'.repeat(21)}}`), at: `invalid_value ${AUTO}:3:51`, says: /must not exceed 20 characters/ },
  { name: 'an unknown key of a filter', files: automation(AUTOMATION.replace('webhook_ids', 'webhooks: []\n      webhook_ids')), at: `unknown_key ${AUTO}:6:7`, says: /triggers\[0\]\.filter/ },
  { name: 'two webhooks in one trigger', files: automation(AUTOMATION.replace(UID, `${UID}, ${UID}`)), at: `invalid_value ${AUTO}:6:20`, says: /must not exceed 1 entry/ },
  { name: 'an agent that is not there', files: beside('agent: fixr'), at: `unknown_agent ${AUTO}:4:8`, says: /Did you mean fixer\?/ },
];

describe('readDefinition', () => {
  it('understands a definition, with defaults where nothing is said', () => {
    const { definition } = definitionOf({
      'factory.yaml': `${FACTORY}alias: ci\nagentDefaults:\n  model: auto\n  mcpServers: {docs: {warp_id: ${UID}}}\n`,
      'webhooks/a.yaml':
        'authMode: signature\nsignatureScheme: github\nsecretName: gh\ndeliveryIdHeader: X-Id\nenabled: false\n',
      'agents/fixer/skills/logs/SKILL.md': 'Read logs.\n',
      'skills/deep/er/SKILL.md': '---\nname: deeper\nlicense: MIT\n---\n',
      'automations/fix/automation.md': AUTOMATION.replace('triggers', 'agent: fixer\nworkerHost: lab-1\ntriggers'),
    });
    expect(definition.factory).toStrictEqual({
      name: 'CI',
      description: '',
      alias: 'ci',
      agentDefaults: { model: 'auto', mcpServers: { docs: UID } },
    });
    expect([...definition.webhooks.values()]).toStrictEqual([
      {
        name: 'a',
        authMode: 'signature',
        signatureScheme: 'github',
        secretName: 'gh',
        deliveryIdHeader: 'X-Id',
        enabled: false,
      },
      {
        name: 'ci',
        authMode: 'token',
        signatureScheme: null,
        secretName: 'ci-token',
        deliveryIdHeader: null,
        enabled: true,
      },
    ]);
    expect([...definition.automations]).toStrictEqual([
      [
        'fix',
        {
          name: 'fix',
          enabled: true,
          agent: 'fixer',
          triggers: [{ provider: 'webhook', event: 'received', filter: { webhook_ids: [UID] } }],
          prompt: 'Fix it.',
          workerHost: 'lab-1',
        },
      ],
    ]);
    expect(definition.agents.get('fixer')).toStrictEqual({
      name: 'fixer',
      description: null,
      prompt: 'You fix builds.',
      model: 'auto',
    });
    expect(definition.skills.map(({ path }) => path)).toEqual([
      'agents/fixer/skills/logs/SKILL.md',
      'skills/deep/er/SKILL.md',
    ]);
  });

  it.each(FAULTS.map((fault) => [fault.name, fault] as const))('points at %s', (_, { files, at, says }) => {
    expect(places(files)).toEqual([at].flat());
    if (says) expect(diagnosticsOf(files)[0]?.message).toMatch(says);
  });

  it('points at a factory.yaml that is missing', () => {
    expect(readDefinition([], KNOWN)).toMatchObject({
      kind: 'invalid',
      diagnostics: [{ code: 'missing_file', path: 'factory.yaml', line: 1, column: 1 }],
    });
  });

  it('points at a path that is given twice, and at too many files', () => {
    const twice = [...filesOf(GOOD), { path: 'webhooks/ci.yaml', content: WEBHOOK }];
    expect(readDefinition(twice, KNOWN)).toMatchObject({
      diagnostics: [{ code: 'duplicate_path', path: 'webhooks/ci.yaml' }],
    });
    const many = Array.from({ length: 257 }, (_, index) => ({ path: `webhooks/w${index}.yaml`, content: WEBHOOK }));
    expect(readDefinition(many, KNOWN)).toMatchObject({
      diagnostics: [{ code: 'too_many_files', path: 'webhooks/w256.yaml' }],
    });
  });

  it('collects what is wrong with all files, by path, line and column, and not more than anybody reads', () => {
    expect(
      places({ ...factory('schemaVersion: v2\nname: 1\nx: 1\n'), ...webhook('b: 1\na: 1\n'), ...agent('Hello.') }),
    ).toEqual([
      'missing_front_matter agents/fixer/agent.md:1:1',
      'unsupported_schema_version factory.yaml:1:16',
      'wrong_type factory.yaml:2:7',
      'unknown_key factory.yaml:3:1',
      'missing_key webhooks/ci.yaml:1:1',
      'unknown_key webhooks/ci.yaml:1:1',
      'unknown_key webhooks/ci.yaml:2:1',
    ]);
    const many = webhook(Array.from({ length: 300 }, (_, index) => `k${index}: 1\n`).join(''));
    expect(diagnosticsOf(many)).toHaveLength(MAX_DIAGNOSTICS);
  });

  it('repeats no value that might be a secret', () => {
    const secret = 'swordfish-1';
    const files = [
      webhook(`secretName: "${secret} is it"\n`),
      webhook(`secretName: ci\nsecret: ${secret}\n`),
      webhook(`secretName: 'ci' ${secret}\n`),
      webhook(`secretName: |x${secret}\n`),
      webhook(`secretName: ci\nenabled: ${secret}\n`),
      beside(`mcpServers: {docs: {warp_id: ${secret}, env: {TOKEN: ${secret}}}}`),
    ];
    for (const changed of files) {
      expect(diagnosticsOf(changed)).not.toHaveLength(0);
      expect(JSON.stringify(diagnosticsOf(changed))).not.toContain(secret);
    }
  });

  it('leaves filters of payloads, and names of webhooks, to who knows them', () => {
    const filter = AUTOMATION.replace(`[${UID}]`, '[ci]\n      payload: {action: opened}');
    expect(definitionOf(automation(filter)).kind).toBe('valid');
  });

  it('reads the same with CRLF, but for the prompt, which stays as it is', () => {
    const { definition } = definitionOf(automation(AUTOMATION.replace('Fix it.', 'Fix\nit.').replaceAll('\n', '\r\n')));
    expect(definition.automations.get('fix')).toEqual({
      ...definitionOf({}).definition.automations.get('fix'),
      prompt: 'Fix\r\nit.',
    });
  });
});

describe('places', () => {
  const AT = `---
triggers:
  - provider: webhook
    event: received
    filter:
      webhook_ids: [${UID}]
      payload:
        action: [opened]
        "a/b~c": {in: [1, 2]}
harness: oz
---

First line.
`;
  const at = (pointer: string) => {
    const { line, column } = definitionOf(automation(AT)).places.at('automations/fix/automation.md', pointer);
    return `${line}:${column}`;
  };

  it.each([
    ['/triggers/0/filter/payload/action', '8:17'],
    ['/triggers/0/filter/payload/action/0', '8:18'],
    ['/triggers/0/filter/payload/a~1b~0c/in/1', '9:27'],
    ['/triggers/0/filter/webhook_ids/0', '6:21'],
    ['/triggers/0', '3:5'],
    ['/triggers', '3:3'],
    ['/harness', '10:10'],
    ['/agent_config/harness/type', '10:10'],
    ['/agent_config/model_id', '2:1'],
    ['/prompt', '13:1'],
    ['/name', '1:1'],
    ['', '2:1'],
    // Nearest to what is not there.
    ['/triggers/0/filter/payload/action/7/x', '8:17'],
    ['/triggers/0/filter/nothing', '6:7'],
    ['/triggers/9', '3:3'],
    ['/triggers/00', '3:3'],
    ['/nothing', '2:1'],
    ['/__proto__/x', '2:1'],
  ])('%s is at %s', (pointer, place) => expect(at(pointer)).toBe(place));

  it('names of factories stand in their files, and of files that are not there in line 1', () => {
    const { places: all } = definitionOf({});
    expect(all.at('factory.yaml', '/name')).toEqual({ line: 2, column: 7 });
    expect(all.at('webhooks/ci.yaml', '/secretName')).toEqual({ line: 1, column: 13 });
    expect(all.at('webhooks/none.yaml', '/secretName')).toEqual({ line: 1, column: 1 });
  });
});
