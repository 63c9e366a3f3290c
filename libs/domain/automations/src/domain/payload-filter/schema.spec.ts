import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePayloadFilter } from './parse.js';
import { PAYLOAD_FILTER_SCHEMA } from './schema.js';

const accepts = new Ajv2020({ strict: true }).compile(PAYLOAD_FILTER_SCHEMA);

const nested = (depth: number, inside: unknown): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner) => ({ k: inner }), inside);

describe('the schema of payload filters', () => {
  it.each<[unknown]>([
    [null],
    [[]],
    ['x'],
    [{ a: 'x' }],
    [{ a: null }],
    [{ a: [] }],
    [{ a: [['x']] }],
    [{ a: { in: 'x' } }],
    [{ a: { in: [] } }],
    [{ a: { not_in: [{}] } }],
    [{ a: { exists: 'yes' } }],
    [{ a: { in: ['x'], exists: false } }],
    [{ a: { exists: true, b: ['x'] } }],
    [{ exists: true }],
    [{ a: Array.from({ length: 33 }, () => 1) }],
    [nested(11, ['x'])],
    [nested(11, {})],
  ])('refuses %j, as the parser does', (raw) => {
    expect(accepts(raw)).toBe(false);
    expect(parsePayloadFilter(raw).kind).toBe('invalid');
  });

  it('accepts everything that the parser accepts', () => {
    const key = fc.oneof(fc.constantFrom('in', 'not_in', 'exists', 'b', '__proto__', 'constructor'), fc.string());
    const scalar = fc.constantFrom<unknown>('x', 'y', 1, 2, 1.5, null, true, false);
    const set = fc.array(scalar, { minLength: 1, maxLength: 3 });
    const operators = fc.record({ in: set, not_in: set, exists: fc.boolean() }, { requiredKeys: [] });
    const { pattern } = fc.letrec((tie) => ({
      pattern: fc.dictionary(key, tie('rule'), { maxKeys: 3 }),
      rule: fc.oneof(
        { maxDepth: 11, withCrossShrink: true },
        { arbitrary: set, weight: 3 },
        { arbitrary: operators, weight: 3 },
        { arbitrary: scalar, weight: 1 },
        { arbitrary: fc.array(tie('rule'), { maxLength: 2 }), weight: 1 },
        { arbitrary: tie('pattern'), weight: 12 },
      ),
    }));
    let taken = 0;
    const deepest = fc.nat(12).chain((depth) => pattern.map((inside) => nested(depth, inside)));
    fc.assert(
      fc.property(fc.oneof(pattern, deepest), (raw) => {
        if (parsePayloadFilter(raw).kind === 'invalid') return;
        taken += 1;
        expect(accepts(raw)).toBe(true);
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(1000);
  });

  it('accepts the largest filters', () => {
    const set = Array.from({ length: 32 }, (_, index) => index);
    for (const raw of [nested(10, set), nested(10, {}), nested(10, { not_in: set, exists: false })]) {
      expect(parsePayloadFilter(raw).kind).toBe('valid');
      expect(accepts(raw)).toBe(true);
    }
  });
});
