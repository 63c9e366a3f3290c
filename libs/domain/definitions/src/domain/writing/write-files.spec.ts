import type { AutomationAnswers, AutomationConcurrency } from '#domain/automations';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentSpec, AutomationSpec, DefinitionFile, FactorySpec, WebhookSpec } from '../definition.js';
import { readDefinition } from '../reading/read-definition.js';
import { writeAgent, writeAutomation, writeFactory, writeWebhook } from './write-files.js';

const KNOWN = {
  triggers: [
    { provider: 'p', event: 'e', schema: { properties: { filter: {} }, required: [] } },
    { provider: 'p', event: 'other', schema: { properties: { filter: {} }, required: [] } },
  ],
};
const UID = 'Ab0'.repeat(7) + 'z';
const FACTORY: FactorySpec = { name: 'F', description: '', alias: null, agentDefaults: {} };

/** What people, or who wants to break the writer, put into a text. */
const HOSTILE = [
  '', ' ', '\n', '\r\n', '\t', '---', '\n---\n', '--- |', '...', '%YAML 1.1', '# x', ' #', ': ', '? ', '- ', '&a', '*a', '!!str', '<<', '~', 'null',
  'true', 'no', '0x1F', '1e3', '.inf', '-', '"', "'", '\\', '{', '}', '[', ']', '|', '>', '@', '`', ',', 'é', '😀', '\u0085', '\u2028', '\u2029',
  '\uFEFF', '\u00a0', '\u007f', '\u001b', '\r', '  x', 'x  ', 'a: b', '__proto__', 'constructor', 'plain text', '```\n---\n```', '{{ payload.a }}',
]; // oxfmt-ignore
const hostile = (max = 12) =>
  fc
    .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme', maxLength: 5 })), { maxLength: max })
    .map((parts) =>
      // What the database stores.
      parts.join('').toWellFormed().replaceAll('\0', ''),
    );
const text = (maxLength: number) =>
  hostile()
    .map((value) => value.slice(0, maxLength).toWellFormed())
    .filter((value) => /\S/.test(value));
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { noNullPrototype: true });
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9._-]{0,20}[a-z0-9])?$/);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const given = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
const settings = record({
  model: optional(text(256)),
  environmentId: optional(fc.constant(UID)),
  workerHost: optional(text(256)),
  harness: optional(text(64)),
  mcpServers: optional(fc.dictionary(text(100), fc.constant(UID), { maxKeys: 4, noNullPrototype: true })),
}).map(given);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    hostile(4),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => (value === 0 ? 0 : value)),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(hostile(4), tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const trigger = record({
  provider: fc.constant('p'),
  event: fc.constantFrom('e', 'other'),
  filter: optional(json),
}).map(given);

const factorySpec: fc.Arbitrary<FactorySpec> = record({
  name: text(200),
  description: hostile(),
  alias: fc.option(text(64)),
  agentDefaults: settings,
});
const webhookSpec: fc.Arbitrary<WebhookSpec> = record({
  name,
  authMode: fc.constantFrom('token', 'url_token', 'signature'),
  scheme: text(64),
  secretName: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/),
  deliveryIdHeader: fc.option(text(128)),
  enabled: fc.boolean(),
}).map(({ scheme, ...spec }) => ({ ...spec, signatureScheme: spec.authMode === 'signature' ? scheme : null }));
const concurrency: fc.Arbitrary<AutomationConcurrency> = record({
  policy: fc.constantFrom('allow', 'skip', 'supersede', 'continue'),
  key: fc.option(text(100)),
  maxFollowups: fc.option(fc.integer({ min: 1, max: 1000 })),
});
const answers: fc.Arbitrary<AutomationAnswers> = record({
  comment: fc.boolean(),
  check: fc.boolean(),
  reaction: fc.boolean(),
  secretName: fc.option(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/), { nil: undefined }),
  decisions: fc.constantFrom(true as const, undefined),
})
  .map(({ secretName, decisions, ...parts }) => ({
    ...parts,
    ...(secretName && { secretName }),
    ...(decisions && { decisions }),
  }))
  .filter((parts) => Object.values(parts).includes(false) || Object.keys(parts).length > 3);
const automationSpec: fc.Arbitrary<AutomationSpec> = fc
  .tuple(
    record({
      name,
      enabled: fc.boolean(),
      agent: fc.constantFrom(null, 'foreman'),
      concurrency: fc.option(concurrency),
      answers: fc.option(answers),
      triggers: fc.array(trigger, { minLength: 1, maxLength: 3 }),
      prompt: hostile().filter((prompt) => prompt.trim() !== ''),
    }),
    settings,
  )
  .map(([{ concurrency: chosen, answers: shown, ...spec }, own]) => ({
    ...spec,
    ...(chosen && { concurrency: chosen }),
    ...(shown && { answers: shown }),
    ...own,
  }));
const agentSpec: fc.Arbitrary<AgentSpec> = fc
  .tuple(record({ name: fc.constant('foreman'), description: fc.option(text(2000)), prompt: hostile() }), settings)
  .map(([spec, own]) => ({ ...spec, ...own }));

function readBack(files: readonly DefinitionFile[]) {
  const result = readDefinition(files, KNOWN);
  if (result.kind === 'invalid') throw new Error(JSON.stringify([result.diagnostics, files], null, 2));
  return result.definition;
}

describe('what is written', () => {
  it('is read as it was, whatever is in it', () => {
    fc.assert(
      fc.property(factorySpec, webhookSpec, automationSpec, agentSpec, (factory, webhook, automation, agent) => {
        const files = [writeFactory(factory), writeWebhook(webhook), writeAutomation(automation), writeAgent(agent)];
        const definition = readBack(files);
        // Vitest asks values for their `constructor`, which is a key here.
        expect(
          isDeepStrictEqual(definition, {
            factory,
            webhooks: new Map([[webhook.name, webhook]]),
            automations: new Map([[automation.name, automation]]),
            agents: new Map([[agent.name, agent]]),
            skills: [],
          }),
        ).toBe(true);
        // Canonical: there is one text of a meaning.
        expect(writeAutomation({ ...definition.automations.get(automation.name), ...automation })).toEqual(files[2]);
      }),
      { numRuns: process.env.HEADRACE_TEST_LONG === '1' ? 400 : 100 },
    );
  });

  it.each(['---', '---\nname: x\n---\n', '\nx', 'x\n', '\r\nx\r\n', 'x\r', '\n\n', '\uFEFFx', '  x  '])(
    'keeps the prompt %j',
    (prompt) => {
      const spec: AgentSpec = { name: 'foreman', description: null, prompt };
      expect(readBack([writeFactory(FACTORY), writeAgent(spec)]).agents.get('foreman')).toStrictEqual(spec);
    },
  );

  it.each([' \n', '\n', '  \n\n', '\t\n', '\n \n', ' \r\n'])('keeps the blank lines %j in a filter', (blank) => {
    const spec: AutomationSpec = {
      name: 'nightly',
      enabled: true,
      agent: null,
      triggers: [{ provider: 'p', event: 'e', filter: { outer: { [blank]: blank } } }],
      prompt: 'x',
    };
    expect(readBack([writeFactory(FACTORY), writeAutomation(spec)]).automations.get('nightly')).toEqual(spec);
  });

  it('has its keys in one order, and no defaults', () => {
    expect(
      writeFactory({
        ...FACTORY,
        name: 'CI',
        description: 'Builds.\nAll of them.\n',
        agentDefaults: { model: 'auto' },
      }),
    ).toEqual({
      path: 'factory.yaml',
      content:
        'schemaVersion: v1alpha1\nname: CI\ndescription: |\n  Builds.\n  All of them.\nagentDefaults:\n  model: auto\n',
    });
    expect(
      writeWebhook({
        name: 'ci',
        authMode: 'token',
        signatureScheme: null,
        secretName: 's',
        deliveryIdHeader: null,
        enabled: true,
      }),
    ).toEqual({ path: 'webhooks/ci.yaml', content: 'secretName: s\n' });
    expect(
      writeAutomation({
        name: 'fix',
        enabled: false,
        agent: 'foreman',
        mcpServers: { docs: UID },
        triggers: [{ filter: { webhook_ids: [UID] }, event: 'received', provider: 'webhook' }],
        prompt: 'Fix it.',
      }),
    ).toEqual({
      path: 'automations/fix/automation.md',
      content: `---
enabled: false
agent: foreman
mcpServers:
  docs:
    warp_id: ${UID}
triggers:
  - provider: webhook
    event: received
    filter:
      webhook_ids:
        - ${UID}
---

Fix it.
`,
    });
    expect(writeAgent({ name: 'foreman', description: null, prompt: '' })).toEqual({
      path: 'agents/foreman/agent.md',
      content: '---\n---\n',
    });
  });

  it('leaves out what the factory’s defaults say, unless an agent comes in between', () => {
    const spec = { name: 'a', description: null, prompt: 'P', model: 'auto', harness: 'oz' };
    expect(writeAgent(spec, { model: 'auto' }).content).toBe('---\nharness: oz\n---\n\nP\n');
    const automation = { ...spec, enabled: true, triggers: [], agent: null };
    expect(writeAutomation(automation, { model: 'auto' }).content).not.toContain('model');
    expect(writeAutomation({ ...automation, agent: 'foreman' }, { model: 'auto' }).content).toContain('model: auto');
  });
});
