import { describe, expect, it } from 'vitest';
import { indentJson, placeholderOf, scalarsOf } from './json-text.js';

describe('indentJson', () => {
  it.each([
    '{"a":[1,{"b":"x, {y}: \\"z\\""}],"c":{},"d":[ ]}',
    '[]',
    '"text"',
    '12',
    '{"__proto__":null,"a":{"a":true}}',
  ])('formats %s like a new serialization', (text) =>
    expect(indentJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2)),
  );

  it('keeps numbers as they were sent, and shows any text', () => {
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    expect(indentJson(deep)).toBe(deep);
    expect(indentJson('[9007199254740993, 1.0]')).toBe('[\n  9007199254740993,\n  1.0\n]');
    expect(indentJson('{"a": "without an end')).toContain('"without an end');
    expect(indentJson('['.repeat(50_000)).length).toBeLessThan(5_000_000);
  });
});

describe('values of a payload', () => {
  it('are suggested as placeholders of a prompt', () => {
    const payload = { a: { 'b c': 1 }, list: [{ x: null }, { y: 2 }], empty: [] };
    expect(scalarsOf(payload).map(({ keys }) => placeholderOf(keys))).toEqual([
      '{{ payload.a["b c"] }}',
      '{{ payload.list[0].x }}',
    ]);
  });
});
