import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locateJsonError, scanJson } from './json-scan.js';

const UNLIMITED = { depth: Number.MAX_SAFE_INTEGER, values: Number.MAX_SAFE_INTEGER };

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('scanJson', () => {
  it('finds the depth of any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(scanJson(Buffer.from(JSON.stringify(value)), UNLIMITED).depth).toBe(depthOf(value));
      }),
    );
  });

  it('is not misled by brackets, quotes and backslashes in strings', () => {
    const text = JSON.stringify({ 'a"[': ['\\', '\\"{{{{', '"]]]]', '\\\\'] });
    expect(scanJson(Buffer.from(text), UNLIMITED).depth).toBe(2);
  });

  it('stops at a limit, however long the rest is', () => {
    expect(scanJson(Buffer.from('['.repeat(1000)), { depth: 5, values: 1000 }).depth).toBe(6);
    expect(scanJson(Buffer.from(`[${'1,'.repeat(1000)}1]`), { depth: 5, values: 10 }).values).toBe(11);
  });

  it('takes a string that never ends for the rest of the text', () => {
    expect(scanJson(Buffer.from('["[[[['), UNLIMITED).depth).toBe(1);
  });
});

describe('locateJsonError', () => {
  it('points behind the end of every cut-off object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), (value, at) => {
        const text = JSON.stringify(value);
        const cut = text.slice(0, at % text.length);
        // A number or a word that is cut off is wrong where it begins.
        const { column } = locateJsonError(cut);
        expect(column).toBeLessThanOrEqual(cut.length + 1);
        expect(/^[\w+.-]*$/.test(cut.slice(column - 1)) || /\\u?[0-9a-f]*$/i.test(cut)).toBe(true);
      }),
    );
  });

  it('never points before the first character that differs from valid JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), fc.constantFrom('}', ']', ',', ':', '"', 'x'), (value, at, intruder) => {
        const text = JSON.stringify(value);
        const position = at % (text.length + 1);
        const broken = text.slice(0, position) + intruder + text.slice(position);
        let valid = true;
        try {
          JSON.parse(broken);
        } catch {
          valid = false;
        }
        fc.pre(!valid);
        const { line, column } = locateJsonError(broken);
        expect(line).toBe(1);
        expect(column).toBeLessThanOrEqual(broken.length + 1);
        // Words, numbers and escapes are judged as a whole, from where they begin.
        expect(column - 1).toBeGreaterThanOrEqual(
          position - (/\\?[\w+.-]*$/.exec(text.slice(0, position))?.[0].length ?? 0),
        );
      }),
    );
  });

  it('counts lines', () => {
    expect(locateJsonError('{\n  "a": 1,\n  "b": oops\n}')).toEqual({ line: 3, column: 8 });
  });

  it('reads a long string in linear time', () => {
    const text = `{"a": "${'x\\n'.repeat(500_000)}`;
    expect(locateJsonError(text).column).toBe(text.length + 1);
  });
});
