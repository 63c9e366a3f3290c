import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '#testing';
import { evaluatePayloadFilter } from './evaluate.js';
import { parsePayloadFilter } from './parse.js';
import { preview, previewList, previewPath } from './preview.js';

const INVISIBLE = /[\u0000-\u001f\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]|\p{Surrogate}/u;

describe('preview', () => {
  it.each<[unknown, string]>([
    ['x', '"x"'],
    ['a "quoted" \\ text', '"a \\"quoted\\" \\\\ text"'],
    ['a\nb\tc\r\0\u001b[31m\u007f\u0085', '"a\\nb\\tc\\r\\u0000\\u001b[31m\\u007f\\u0085"'],
    ['\u202eevil\u200b\u2066\ufeff', '"\\u202eevil\\u200b\\u2066\\ufeff"'],
    ['\ud800x', '"\\ud800x"'],
    ['\u{e0041}', '"\\udb40\\udc41"'],
    ['Grüße 👋', '"Grüße 👋"'],
    ['y'.repeat(98), `"${'y'.repeat(98)}"`],
    ['y'.repeat(99), `"${'y'.repeat(97)}…"`],
    ['👋'.repeat(60), `"${'👋'.repeat(48)}…"`],
    [-0, '0'],
    [1e300, '1e+300'],
    [null, 'null'],
    [{}, '{}'],
    [{ a: 1 }, '{…}'],
    [['x', 1, { a: 1 }, [], [1]], '["x", 1, {…}, [], […]]'],
    [['y'.repeat(500)], `["${'y'.repeat(37)}…"]`],
  ])('of %j', (value, expected) => {
    expect(preview(value)).toBe(expected);
  });

  it('of a set contains the number of further values', () => {
    const words = Array.from({ length: 32 }, (_, index) => `a word ${index}`);
    const shown = previewList(new Set(words));
    expect(shown).toBe(
      '"a word 0", "a word 1", "a word 2", "a word 3", "a word 4", "a word 5", "a word 6", "a word 7" and 24 more',
    );
    expect(previewList(new Set(words.map((word) => word.padEnd(5000, '.')))).length).toBeLessThanOrEqual(115);
  });

  it.each<[(string | number)[], string]>([
    [[], 'the body'],
    [['a'], '`a`'],
    [[0, 'a', 'b', 12, 'c'], '`[0].a.b[12].c`'],
    [['a b', 'c.d', '1', '-', '', '`"'], '`["a b"]["c.d"]["1"]["-"][""]["\\u0060\\""]`'],
    [['$schema', '_id', 'x-y', 'ü'], '`$schema._id.x-y["ü"]`'],
    [['k'.repeat(1000)], `\`${'k'.repeat(39)}…\``],
    [['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)], `\`…${'a'.repeat(7)}.${'b'.repeat(40)}.${'c'.repeat(40)}\``],
  ])('of the path %j', (path, expected) => {
    expect(previewPath(path)).toBe(expected);
  });

  it('is a short line for any value', () => {
    const anything = fc.oneof(fc.jsonValue(), anyText({ maxLength: 300 }), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(anything, fc.array(fc.oneof(anyText(), fc.nat())), (value, path) => {
        for (const [text, longest] of [
          [preview(value), 100],
          [previewPath(path), 92],
        ] as const) {
          expect(text.length).toBeLessThanOrEqual(longest);
          expect(text).not.toMatch(INVISIBLE);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

it('limits the longest reason to 500 characters', () => {
  const key = 'k'.repeat(200);
  const nest = (inside: unknown, around: (inner: unknown) => unknown): unknown =>
    Array.from({ length: 10 }).reduce<unknown>(around, inside);
  const words = Array.from({ length: 32 }, (_, index) => `${'w'.repeat(30)}${index}${'w'.repeat(5000)}`);
  const parsed = parsePayloadFilter(nest(words, (inner) => ({ [key]: inner })));
  const payload = nest(
    Array.from({ length: 500 }, () => 'v'.repeat(300)),
    (inner) => Array.from({ length: 2 }, () => ({ [key]: inner })),
  );
  if (parsed.kind === 'invalid') throw new Error('The filter is not valid.');
  const { reason } = evaluatePayloadFilter(parsed.filter, payload);
  expect(reason).toMatch(/^None of the 2 objects in the body matches: .* which holds none of .* and \d+ more\.$/);
  expect(reason.length).toBeLessThanOrEqual(500);
});
