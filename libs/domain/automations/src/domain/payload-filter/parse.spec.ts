import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePayloadFilter } from './parse.js';

/** As it comes over the wire: `__proto__` is a key. */
const parse = (text: string): ReturnType<typeof parsePayloadFilter> => parsePayloadFilter(JSON.parse(text));

const deep = (keys: number, inside: unknown): string =>
  Array.from({ length: keys }).reduce<string>((inner) => `{"k":${inner}}`, JSON.stringify(inside));
const wide = (leaves: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: leaves }, (_, index) => [`k${index}`, ['x']])));
const values = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe('parsePayloadFilter accepts', () => {
  it.each([
    '{}',
    '{"a":["x",1,1.5,true,false,null]}',
    '{"a":{"in":["x"]}}',
    '{"a":{"not_in":["x"]}}',
    '{"a":{"exists":true}}',
    '{"a":{"exists":false}}',
    '{"a":{"in":["x"],"not_in":["y"],"exists":true}}',
    '{"a":{"not_in":["x"],"exists":false}}',
    '{"a":{}}',
    '{"a":{"b":{"c":["x"]}}}',
    // Twice the same is one value.
    '{"a":["x","x"],"b":[1,1.0]}',
    // Of another type, another value.
    '{"a":{"in":["1"],"not_in":[1]}}',
    '{"a":{"in":[null],"not_in":["null"]}}',
    // At the top all keys are the payload's.
    '{"in":["x"],"not_in":["y"],"exists":[true],"notIn":["z"]}',
    // Beside another key operators are keys of the payload.
    '{"a":{"in":["x"],"foo":["y"]}}',
    '{"a":{"in":["x"],"id":["y"]}}',
    '{"a":{"in":{"in":["x"]},"exists":{"exists":false},"foo":{}}}',
    // Keys that look like operators, written so that nobody can mean an operator.
    '{"a":{"notIn":{"in":["x"]}}}',
    '{"a":{"nin":{"exists":true},"In":{"b":["x"]}}}',
    '{"a":{"notIn":["x"],"name":["y"]}}',
    '{"a":{"id":["x"]},"b":{"is":["x"]},"c":{"on":["x"]},"d":{"notion":["x"]},"e":{"exit":["x"]}}',
    '{"__proto__":["x"],"constructor":{"toString":["x"]},"hasOwnProperty":{"__proto__":{"exists":true}}}',
    '{"":["x"],"a/b":["x"],"a~b":["x"],"a.b":["x"],"0":["x"]}',
    deep(10, ['x']),
    deep(10, { in: ['x'], exists: true }),
    deep(10, {}),
    wide(64),
    JSON.stringify({ a: values(32) }),
    JSON.stringify({ a: { in: values(32), not_in: values(32).map((value) => value + 100) } }),
  ])('%s', (text) => {
    expect(parse(text)).toMatchObject({ kind: 'valid' });
  });
});

describe('parsePayloadFilter rejects', () => {
  it.each<[text: string, ...issues: [pointer: string, detail: string][]]>([
    ['null', ['', 'must be an object']],
    ['true', ['', 'must be an object']],
    ['"action"', ['', 'must be an object']],
    ['7', ['', 'must be an object']],
    ['[]', ['', 'must be an object']],
    ['[{"a":["x"]}]', ['', 'must be an object']],
    // A bare scalar.
    ['{"a":"x"}', ['/a', 'use an array, ["x"]']],
    ['{"a":null}', ['/a', 'use an array, [null]']],
    ['{"a":{"b":1.50}}', ['/a/b', 'use an array, [1.5]']],
    ['{"a":{"b":true},"c":"x"}', ['/a/b', 'use an array, [true]'], ['/c', 'use an array, ["x"]']],
    ['{"exists":true}', ['/exists', 'at the top of a filter `exists` is a key of the payload']],
    ['{"a":{"exists":true,"foo":["x"]}}', ['/a/exists', 'beside "foo" `exists` is a key of the payload']],
    // Operators that are none.
    ['{"a":{"exist":true}}', ['/a/exist', 'is no operator: did you mean `exists`?']],
    ['{"a":{"exits":false}}', ['/a/exits', 'did you mean `exists`?']],
    ['{"a":{"Exists":true}}', ['/a/Exists', 'did you mean `exists`?']],
    ['{"a":{"exists":true,"inn":["x"]}}', ['/a/inn', 'did you mean `in`?']],
    ['{"a":{"inn":["x"]}}', ['/a/inn', 'is no operator: did you mean `in`? For a key of the payload with this name']],
    ['{"a":{"$in":["x"]}}', ['/a/$in', 'write {"$in": {"in": […]}}']],
    ['{"a":{"notIn":["x"]}}', ['/a/notIn', 'did you mean `not_in`?']],
    ['{"a":{"not-in":["x"]}}', ['/a/not-in', 'did you mean `not_in`?']],
    ['{"a":{"nin":["x"]}}', ['/a/nin', 'did you mean `not_in`?']],
    ['{"a":{"not_on":["x"]}}', ['/a/not_on', 'did you mean `not_in`?']],
    ['{"a":{"not_ni":["x"]}}', ['/a/not_ni', 'did you mean `not_in`?']],
    ['{"a":{"in":["x"],"NOT_IN":["y"]}}', ['/a/NOT_IN', 'did you mean `not_in`?']],
    ['{"a":{"notIn":"x"}}', ['/a/notIn', 'if it should be an operator, did you mean `not_in`?']],
    ['{"a":{"exist":"yes"}}', ['/a/exist', 'did you mean `exists`?']],
    // Sets.
    ['{"a":[]}', ['/a', 'at least one value']],
    ['{"a":{"in":[]}}', ['/a/in', 'at least one value']],
    ['{"a":{"not_in":[]}}', ['/a/not_in', 'at least one value']],
    ['{"a":{"in":"x"}}', ['/a/in', 'must be an array of values']],
    ['{"a":{"in":null}}', ['/a/in', 'must be an array of values']],
    ['{"a":{"not_in":{"b":["x"]}}}', ['/a/not_in', 'are operators only without other keys beside them']],
    ['{"a":["x",["y"]]}', ['/a/1', 'must be a string, a number, true, false or null']],
    ['{"a":{"in":["x",{}]}}', ['/a/in/1', 'must be a string, a number, true, false or null']],
    ['{"a":[{"b":["x"]}]}', ['/a/0', 'must be a string, a number, true, false or null']],
    ['{"a":[1e999]}', ['/a/0', 'must be a number of at most']],
    ['{"a":["\\u0000"]}', ['/a/0', 'must not contain NUL characters or lone surrogates']],
    ['{"\\ud800":["x"]}', ['/\ud800', 'must not have NUL characters or lone surrogates in its name']],
    [JSON.stringify({ a: values(33) }), ['/a', 'must not exceed 32 values, and has 33']],
    [JSON.stringify({ a: { not_in: values(40) } }), ['/a/not_in', 'must not exceed 32 values, and has 40']],
    // Operators that contradict each other.
    ['{"a":{"in":["x","y"],"not_in":["z","z","y"]}}', ['/a/not_in/2', 'must not be in `in` too']],
    ['{"a":{"in":[1,0],"not_in":[1.0,-0]}}', ['/a/not_in/0', 'must not be'], ['/a/not_in/1', 'must not be']],
    ['{"a":{"in":["x"],"exists":false}}', ['/a/exists', 'must not be false beside `in`']],
    ['{"a":{"exists":"no"}}', ['/a/exists', 'must be true or false']],
    ['{"a":{"exists":[true]}}', ['/a/exists', 'must be true or false']],
    ['{"a":{"exists":null}}', ['/a/exists', 'must be true or false']],
    // Limits.
    [deep(11, ['x']), ['/k/k/k/k/k/k/k/k/k/k', 'at most 10 keys deep']],
    [wide(65), ['', 'must not exceed 64 keys with values, and has 65']],
    // Pointers.
    ['{"a/b":{"c~d":"x"}}', ['/a~1b/c~0d', 'use an array']],
    ['{"__proto__":{"constructor":1}}', ['/__proto__/constructor', 'use an array']],
  ])('%s', (text, ...issues) => {
    const expected = issues.map(([pointer, detail]) => ({
      pointer,
      detail: expect.stringContaining(detail) as string,
    }));
    expect(parse(text)).toEqual({ kind: 'invalid', issues: expected });
  });

  it('and reports at most 20 issues, including too many leaves', () => {
    const parsed = parsePayloadFilter(Object.fromEntries(values(100_000).map((value) => [`k${value}`, value])));
    expect(parsed).toMatchObject({ kind: 'invalid', issues: { length: 20 } });
    expect(parsed).toHaveProperty('issues.0', {
      pointer: '',
      detail: 'must not exceed 64 keys with values, and has 100000',
    });
  });

  it('too many leaves, where a key with several operators counts once', () => {
    const all = { in: ['x'], not_in: ['y'], exists: true };
    const filter = Object.fromEntries(values(64).map((value) => [`k${value}`, all]));
    expect(parsePayloadFilter(filter)).toMatchObject({ kind: 'valid', filter: { leaves: 64 } });
    expect(parsePayloadFilter({ ...filter, more: {} })).toMatchObject({ kind: 'invalid' });
  });
});

describe('parsePayloadFilter with hostile values', () => {
  it('does not recurse below the maximum depth', () => {
    const bottomless = `${'{"a":'.repeat(100_000)}["x"]${'}'.repeat(100_000)}`;
    expect(parse(bottomless)).toMatchObject({ kind: 'invalid', issues: { length: 1 } });
    expect(parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toMatchObject({ kind: 'invalid' });
  });

  it('never throws, and points at the invalid values', () => {
    const key = fc.oneof(fc.constantFrom('in', 'not_in', 'exists', 'notin', '__proto__', 'a'), fc.string());
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { maxDepth: 12 },
        fc.constantFrom<unknown>('x', 1, -0, Infinity, null, true, '\0'),
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(key, tie('json'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.oneof(json, fc.jsonValue(), fc.anything()), (raw) => {
        const parsed = parsePayloadFilter(raw);
        if (parsed.kind === 'valid') return;
        expect(parsed.issues.length).toBeGreaterThan(0);
        for (const { pointer, detail } of parsed.issues) {
          expect(detail).toMatch(/^(must|is no operator)/);
          expect(resolves(raw, pointer)).toBe(true);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

/** Whether the pointer leads to something that is there. */
function resolves(raw: unknown, pointer: string): boolean {
  let value = raw;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}
