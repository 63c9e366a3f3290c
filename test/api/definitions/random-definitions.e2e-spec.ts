import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workerHostFault } from '#execution/worker-protocol';
import { ApiFixture, type Files } from '../../support/api-fixture.js';
import { entryOf, definitionRows } from './definition-plans.js';
import { isLong } from '../../support/long-tests.js';

let fixture: ApiFixture;
beforeAll(async () => {
  fixture = await ApiFixture.start({ settings: { ingressPublicUrl: 'https://in.example.com' } });
  await fixture.putSecret('ci-secret', 'swordfish-1');
  await fixture.putSecret('other', 'swordfish-2');
});
afterAll(() => fixture.close());

const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T>(model, { noNullPrototype: true });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const ODD = [
  ' ',
  '\n',
  '\r\n',
  '---',
  '\n---\n',
  '# x',
  ': ',
  '"',
  "'",
  '\u001b',
  '\u0085',
  '\uFEFF',
  '😀',
  '__proto__',
  'true',
  '1e3',
  'é',
  '~',
];
const odd = (max: number) =>
  fc
    .array(fc.oneof(fc.constantFrom(...ODD), fc.string({ maxLength: 6 })), { maxLength: 8 })
    .map((parts) => parts.join('').slice(0, max).toWellFormed());
const text = (max: number) => odd(max).filter((value) => /\S/.test(value));
const scalar = fc.oneof(
  odd(12),
  fc.boolean(),
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e21, 5e-324, 12345678901234567890, 0.1),
);
const condition = record({
  operator: fc.constantFrom('in', 'not_in'),
  values: fc.array(scalar, { minLength: 1, maxLength: 3 }),
});
const host = text(40).filter((value) => workerHostFault(value) === null);
const settings = record({ model: optional(text(40)), workerHost: optional(host), harness: optional(text(20)) });
const definition = record({
  name: text(60),
  description: odd(60),
  alias: optional(text(30)),
  defaults: optional(settings),
  webhooks: fc.uniqueArray(fc.constantFrom('a', 'constructor', 'x.y_z-1'), { maxLength: 3 }),
  hook: record({
    secretName: fc.constantFrom('ci-secret', 'other'),
    deliveryIdHeader: optional(fc.constantFrom('X-Event-ID', 'x-request-id')),
    authMode: optional(fc.constantFrom('token', 'url_token')),
    enabled: optional(fc.boolean()),
  }),
  agents: fc.uniqueArray(fc.constantFrom('foreman', 'constructor', '0'), { maxLength: 3 }),
  agent: record({
    description: optional(text(60)),
    skills: optional(fc.array(text(60), { maxLength: 3 })),
    settings,
    prompt: odd(80),
  }),
  automations: fc.uniqueArray(fc.constantFrom('one', 'tostring', 'z'), { maxLength: 3 }),
  automation: record({
    settings,
    enabled: optional(fc.boolean()),
    filter: fc.array(fc.tuple(text(12), condition), { maxLength: 3 }),
    prompt: odd(80).filter((prompt) => prompt.trim() !== ''),
  }),
  skill: fc.option(odd(80).filter((value) => !value.startsWith('---') && !value.startsWith('\uFEFF---'))),
  // Whether lines end as on Windows, and whether the first one has a byte order mark.
  isForeign: fc.boolean(),
});
type Definition = typeof definition extends fc.Arbitrary<infer T> ? T : never;

/** JSON is YAML. */
function filesOf(random: Definition, hook: string): Files {
  const { webhooks, agents, automations, isForeign, skill } = random;
  const yaml = (value: object): string => {
    // Not all that JavaScript lets stand in JSON may stand in YAML.
    const lines = JSON.stringify(value, null, 1).replaceAll(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    return isForeign ? `\uFEFF${lines.replaceAll('\n', '\r\n')}\r\n` : `# by hand\n${lines}\n`;
  };
  const front = (value: object, prompt: string): string => {
    const [mark, lines] = isForeign ? ['\uFEFF', yaml(value).slice(1)] : ['', yaml(value)];
    return `${mark}---\n${lines}---\n\n${prompt}\n`;
  };
  const payload = Object.fromEntries(
    random.automation.filter.map(([key, { operator, values }]) => [key, { [operator]: values }]),
  );
  const filter = { webhook_ids: [hook], ...(Object.keys(payload).length > 0 && { payload }) };
  return {
    'factory.yaml': yaml({
      ...{ schemaVersion: 'v1alpha1', name: random.name, description: random.description },
      ...{ alias: random.alias, agentDefaults: random.defaults },
    }),
    'webhooks/kept.yaml': 'secretName: ci-secret\n',
    ...Object.fromEntries(webhooks.map((name) => [`webhooks/${name}.yaml`, yaml(random.hook)])),
    ...Object.fromEntries(
      agents.map((name) => [
        `agents/${name}/agent.md`,
        front(
          { ...random.agent.settings, description: random.agent.description, skills: random.agent.skills },
          random.agent.prompt,
        ),
      ]),
    ),
    ...Object.fromEntries(
      automations.map((name, index) => [
        `automations/${name}/automation.md`,
        front(
          {
            ...random.automation.settings,
            ...{ enabled: random.automation.enabled, agent: agents[index] },
            triggers: [{ provider: 'webhook', event: 'received', filter }],
          },
          random.automation.prompt,
        ),
      ]),
    ),
    ...(skill !== null && { 'skills/dig/SKILL.md': skill }),
  };
}

const NOTHING = { create: 0, update: 0, delete: 0 };
/** What was applied, but for the texts of the files and the time of the apply. */
const resourcesIn = (snapshot: string): string =>
  snapshot
    .split('\n')
    .filter((row) => !row.startsWith('factory_files') && !row.startsWith('factory_definitions'))
    .join('\n');

describe('any definition', () => {
  it(
    'applied twice, exported and applied again, or written again from what there is, changes nothing',
    async () => {
      const factory = await fixture.createFactory();
      const kept = {
        'factory.yaml': 'schemaVersion: v1alpha1\nname: F\n',
        'webhooks/kept.yaml': 'secretName: ci-secret\n',
      };
      const hook = entryOf(await fixture.applyDefinition(factory, kept), 'webhook', 'kept').uid ?? '';
      await fc.assert(
        fc.asyncProperty(definition, async (random) => {
          const files = filesOf(random, hook);
          await fixture.applyDefinition(factory, files);
          const applied = await definitionRows(fixture);
          expect((await fixture.applyDefinition(factory, files)).summary).toMatchObject(NOTHING);
          const exported = await fixture.exportDefinition(factory);
          expect(exported).toEqual(files);
          expect((await fixture.applyDefinition(factory, exported)).summary).toMatchObject(NOTHING);
          expect(await definitionRows(fixture)).toBe(applied);
          // Without the texts, all of it has to be written again; skills are nothing but their texts.
          const query = `DELETE FROM factory_files WHERE factory_uid = $1 AND path !~ '^skills'`;
          await fixture.database.query(query, [factory]);
          const written = await fixture.exportDefinition(factory);
          expect(Object.keys(written)).toEqual(Object.keys(files).sort());
          expect((await fixture.applyDefinition(factory, written)).summary).toMatchObject(NOTHING);
          expect(resourcesIn(await definitionRows(fixture))).toBe(resourcesIn(applied));
        }),
        { numRuns: isLong ? 200 : 10 },
      );
    },
    isLong ? 480_000 : 120_000,
  );
});
