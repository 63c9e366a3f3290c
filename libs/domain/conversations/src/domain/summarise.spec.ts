import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstLine, summariseJson, summariseText } from './summarise.js';

describe('summariseText', () => {
  it('keeps text that fits, else its beginning and end without splitting a character', () => {
    expect(summariseText('ü'.repeat(50), 100)).toEqual({ value: 'ü'.repeat(50), truncated: false });
    const { value, truncated } = summariseText(`a${'ü'.repeat(99)}`, 50);
    expect(truncated).toBe(true);
    expect(value).toBe(`a${'ü'.repeat(12)}\n[… 150 bytes left out …]\n${'ü'.repeat(12)}`);
  });

  it('exceeds the limit only by its note', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), fc.integer({ min: 1, max: 400 }), (text, max) => {
        expect(Buffer.byteLength(summariseText(text, max).value)).toBeLessThanOrEqual(max + 40);
      }),
    );
  });
});

describe('summariseJson', () => {
  it('keeps small values', () => {
    const value = { a: [1, 'x', null, { b: true }] };
    expect(summariseJson(value)).toEqual({ value, truncated: false });
  });

  it('limits depth, items and bytes', () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    expect(summariseJson(deep).truncated).toBe(true);
    const wide = summariseJson(Array.from({ length: 5000 }, (_, index) => index));
    expect([wide.truncated, (wide.value as unknown[]).length]).toEqual([true, 100]);
    const nested = Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => ['some text', 'more text']));
    const { value, truncated } = summariseJson(nested);
    expect(truncated).toBe(true);
    expect(JSON.stringify(value).length).toBeLessThan(60_000);
  });

  it('keeps unusual keys', () => {
    const odd = JSON.parse('{"__proto__": {"a": 1}}') as unknown;
    expect(JSON.stringify(summariseJson(odd).value)).toBe('{"__proto__":{"a":1}}');
  });
});

describe('firstLine', () => {
  it('returns the first line that is not blank', () => {
    expect(firstLine('\n  \n  Fix it \nplease')).toBe('Fix it');
    expect(firstLine(' \n\t')).toBeUndefined();
    expect(firstLine('😀'.repeat(150))?.isWellFormed()).toBe(true);
  });
});
