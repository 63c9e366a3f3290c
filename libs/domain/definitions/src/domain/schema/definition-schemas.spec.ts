import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { PAYLOAD_FILTER_SCHEMA } from '#domain/automations';
import { definitionSchemas, type KnownParts } from './definition-schemas.js';

const KNOWN: KnownParts = {
  triggers: [
    {
      provider: 'webhook',
      event: 'received',
      schema: {
        properties: { filter: { type: 'object', properties: { payload: PAYLOAD_FILTER_SCHEMA } } },
        required: ['filter'],
      },
    },
    {
      provider: 'schedule',
      event: 'cron_fired',
      schema: { properties: { cron: { type: 'string' } }, required: ['cron'] },
    },
  ],
};
const KINDS = ['factory', 'webhook', 'automation', 'agent', 'skill'] as const;

/** Every schema of a key that people write, by its place. */
function* keysIn(schema: unknown, at = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  const { properties, items, additionalProperties } = schema as Record<string, object | undefined>;
  for (const [key, value] of Object.entries(properties ?? {})) {
    yield [`${at}/${key}`, value as Record<string, unknown>];
    yield* keysIn(value, `${at}/${key}`);
  }
  yield* keysIn(items, `${at}[]`);
  yield* keysIn(additionalProperties, `${at}/*`);
}

describe('definitionSchemas', () => {
  const schemas = definitionSchemas(KNOWN);

  it.each(KINDS)('is a JSON Schema of 2020-12 for %s, without anything that validators do not know', (kind) => {
    const ajv = new Ajv2020({
      strict: true,
      strictRequired: false,
      strictTypes: false,
      keywords: ['errorMessage', 'patternErrorMessage'],
    });
    expect(ajv.validateSchema(schemas[kind])).toBe(true);
    expect(() => ajv.compile(schemas[kind])).not.toThrow();
    expect(schemas[kind]).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: expect.any(String),
    });
  });

  it.each(KINDS)('describes every key of %s to editors', (kind) => {
    const silent = [...keysIn(schemas[kind])]
      .filter(([, { description }]) => typeof description !== 'string')
      .map(([at]) => at);
    expect(silent).toEqual([]);
  });

  it('is plain JSON, and stands without the others', () => {
    expect(JSON.parse(JSON.stringify(schemas))).toEqual(schemas);
    expect(JSON.stringify(schemas)).not.toContain('"$ref"');
  });

  it('knows the triggers of the installation, whatever they are', () => {
    const validate = new Ajv2020({ strict: false }).compile(schemas.automation);
    expect(validate({ triggers: [{ provider: 'schedule', event: 'cron_fired', cron: '@daily' }] })).toBe(true);
    expect(validate({ triggers: [{ provider: 'schedule', event: 'received', cron: '@daily' }] })).toBe(false);
    expect(validate({ triggers: [{ provider: 'webhook', event: 'received', cron: '@daily' }] })).toBe(false);
    expect(
      validate({ triggers: [{ provider: 'webhook', event: 'received', filter: { payload: { action: ['opened'] } } }] }),
    ).toBe(true);
    const none = new Ajv2020({ strict: false }).compile(definitionSchemas({ triggers: [] }).automation);
    expect(none({ triggers: [] })).toBe(false);
  });
});
