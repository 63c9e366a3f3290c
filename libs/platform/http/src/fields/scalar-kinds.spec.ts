import { describe, expect, it } from 'vitest';
import { boolean, integer, number, parseDateTime, text } from './scalar-kinds.js';

describe('parseDateTime', () => {
  it.each([
    ['2026-11-30T09:00:00Z', '2026-11-30T09:00:00.000Z'],
    ['2026-11-30t09:00:00.123456z', '2026-11-30T09:00:00.123Z'],
    ['2026-11-30T09:00:00+05:30', '2026-11-30T03:30:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ])('%s is %s', (given, expected) => {
    expect(parseDateTime(given)?.toISOString()).toBe(expected);
  });

  it.each([
    '2026-11-30',
    '2026-11-30T09:00:00',
    '2026-11-30 09:00:00Z',
    '2026-11-30T09:00Z',
    '2026-11-31T09:00:00Z',
    '2026-02-29T09:00:00Z',
    '2026-00-10T09:00:00Z',
    '2026-13-10T09:00:00Z',
    '2026-11-00T09:00:00Z',
    '2026-11-30T24:00:00Z',
    '2026-11-30T09:60:00Z',
    '2026-11-30T09:00:00 02:00',
    '2026-11-30T09:00:00+2:00',
    '1764493200',
    'today',
    '',
  ])('%j is none', (given) => {
    expect(parseDateTime(given)).toBeNull();
  });
});

describe('query text', () => {
  it.each(['5.0', '+5', '1e2', ' 5', '5 ', '0x10', '', '٣', '12345678901234567890'])(
    '%j is not an integer',
    (given) => {
      const kind = integer({ min: 1, max: 500 });
      expect(kind.check(kind.read(given, 'query'))).toEqual([
        { pointer: '', detail: 'must be an integer between 1 and 500' },
      ]);
    },
  );

  it('digits are a number in a query, and text in a body', () => {
    const kind = integer({ min: 1 });
    expect(kind.read('20', 'query')).toBe(20);
    expect(kind.check(kind.read('20', 'body'))).toHaveLength(1);
  });

  it.each(['TRUE', '1', 'yes', ''])('%j is no boolean', (given) => {
    expect(boolean().check(boolean().read(given, 'query'))).toEqual([{ pointer: '', detail: 'must be true or false' }]);
  });
});

describe('rules', () => {
  it('numbers are finite', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '1']) expect(number().check(value)).toHaveLength(1);
    expect(number({ max: 2 }).check(2.5)).toEqual([{ pointer: '', detail: 'must be a number of at most 2' }]);
    expect(integer().check(2 ** 53)).toHaveLength(1);
  });

  it('bytes are not characters', () => {
    expect(text({ maxBytes: 3 }).check('éé')).toEqual([{ pointer: '', detail: 'must not exceed 3 bytes in UTF-8' }]);
    expect(text({ max: 2 }).check('éé')).toEqual([]);
  });
});
