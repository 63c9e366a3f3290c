import { describe, expect, it } from 'vitest';
import { parseCron } from './parse-cron.js';

const START = new Date('2026-01-01T00:00:00Z');

/** Expression and its first two due times after the start of 2026, to the minute. */
const ACCEPTED: [expression: string, first: string, second: string][] = [
  ['* * * * *', '2026-01-01T00:01', '2026-01-01T00:02'],
  ['*/15 * * * *', '2026-01-01T00:15', '2026-01-01T00:30'],
  ['1-30/5 * * * *', '2026-01-01T00:01', '2026-01-01T00:06'],
  ['*/60 * * * *', '2026-01-01T01:00', '2026-01-01T02:00'],
  ['5,10-12,50 3 * * *', '2026-01-01T03:05', '2026-01-01T03:10'],
  ['0 9-17/4 * * *', '2026-01-01T09:00', '2026-01-01T13:00'],
  ['05 09 * * *', '2026-01-01T09:05', '2026-01-02T09:05'],
  ['0 0 * * 0', '2026-01-04T00:00', '2026-01-11T00:00'],
  ['0 0 * * 7', '2026-01-04T00:00', '2026-01-11T00:00'],
  ['0 0 * * 5-7', '2026-01-02T00:00', '2026-01-03T00:00'],
  ['0 0 * * sat-SUN', '2026-01-03T00:00', '2026-01-04T00:00'],
  ['0 0 * * SUN', '2026-01-04T00:00', '2026-01-11T00:00'],
  ['0 0 * * Mon,wed', '2026-01-05T00:00', '2026-01-07T00:00'],
  ['0 12 1 jan,JUL *', '2026-01-01T12:00', '2026-07-01T12:00'],
  ['0 0 1 FEB-apr *', '2026-02-01T00:00', '2026-03-01T00:00'],
  ['0 0 13 * 5', '2026-01-02T00:00', '2026-01-09T00:00'],
  ['0 0 2,3 * MON', '2026-01-02T00:00', '2026-01-03T00:00'],
  ['0 0 29 2 *', '2028-02-29T00:00', '2032-02-29T00:00'],
  ['0 0 31 4,5 *', '2026-05-31T00:00', '2027-05-31T00:00'],
  ['0 0 30 2 1', '2026-02-02T00:00', '2026-02-09T00:00'],
  ['  0   0\t* *  * ', '2026-01-02T00:00', '2026-01-03T00:00'],
];

it.each(ACCEPTED)('`%s` is due at %s and at %s', (expression, ...times) => {
  const parsed = parseCron(expression);
  if (parsed.kind === 'invalid') expect.fail(parsed.detail);
  expect(parsed.cron.upcoming(START, 2).map((time) => time.toISOString())).toEqual(times.map((t) => `${t}:00.000Z`));
});

const INVALID: [expression: string, detail: string][] = [
  ['', 'must have five fields: minute hour day month weekday; it has 0'],
  ['   ', 'must have five fields: minute hour day month weekday; it has 0'],
  ['* * * *', 'must have five fields: minute hour day month weekday; it has 4'],
  ['0 * * * * *', 'it has 6; seconds and years are not supported'],
  ['0 0 0 1 1 * 2026', 'it has 7; seconds and years are not supported'],
  ['@daily', 'descriptors such as @daily are not supported'],
  ['@every 5m', 'descriptors such as @daily are not supported'],
  ['CRON_TZ=Europe/Berlin 0 0 * * *', 'a time zone goes into timezone, not before the expression'],
  ['TZ=UTC 0 0 * * *', 'a time zone goes into timezone, not before the expression'],
  ['0 0\n* * *', 'on one line'],
  ['0 0 * *\u00a0*', 'on one line'],
  [`0 0 * * ${'1,'.repeat(130)}1`, 'must not exceed 256 characters'],
  ['60 * * * *', 'has an invalid minute: "60" must be 0 to 59'],
  ['-1 * * * *', 'has an invalid minute: "-1" lacks a value; it must be 0 to 59'],
  ['1- * * * *', 'has an invalid minute: "1-" lacks a value'],
  ['+5 * * * *', 'has an invalid minute: "+5" must be 0 to 59'],
  ['1.5 * * * *', 'has an invalid minute: "1.5" must be 0 to 59'],
  ['005 * * * *', 'has an invalid minute: "005" must be 0 to 59'],
  ['٣ * * * *', 'has an invalid minute: "٣" must be 0 to 59'],
  ['H * * * *', 'has an invalid minute: "H" must be 0 to 59 (L, W, #, ? and H are not supported)'],
  ['1,,2 * * * *', 'has an invalid minute: "1,,2" has an empty element in its list'],
  ['1, * * * *', 'has an invalid minute: "1," has an empty element in its list'],
  ['1-2-3 * * * *', 'has an invalid minute: "1-2-3" has "1-2-3", which is not a range of two values'],
  ['**/2 * * * *', 'has an invalid minute: "**/2" must be 0 to 59'],
  ['*/2/3 * * * *', 'has an invalid minute: "*/2/3" has more than one step'],
  ['*/0 * * * *', 'has an invalid minute: "*/0" has the step "0", which must be 1 to 60'],
  ['*/61 * * * *', 'has the step "61", which must be 1 to 60'],
  ['*/ * * * *', 'has the step "", which must be 1 to 60'],
  ['/5 * * * *', 'has an invalid minute: "/5" lacks a value'],
  ['5/15 * * * *', 'has a step over the single value 5; a range is needed, such as 5-59/15'],
  ['* 24 * * *', 'has an invalid hour: "24" must be 0 to 23'],
  ['* 22-4 * * *', 'has an invalid hour: "22-4" has the range 22-4, which runs backwards'],
  ['* * 0 * *', 'has an invalid day of the month: "0" must be 1 to 31'],
  ['* * 32 * *', 'has an invalid day of the month: "32" must be 1 to 31'],
  ['* * L * *', 'has an invalid day of the month: "L" must be 1 to 31 (L, W, #, ? and H are not supported)'],
  ['* * 15W * *', 'has an invalid day of the month: "15W" must be 1 to 31 (L, W'],
  ['* * ? * *', 'has an invalid day of the month: "?" must be 1 to 31 (L, W'],
  ['* * MON * *', 'has an invalid day of the month: "MON" must be 1 to 31'],
  ['* * * 13 *', 'has an invalid month: "13" must be 1 to 12 or JAN to DEC'],
  ['* * * 0 *', 'has an invalid month: "0" must be 1 to 12 or JAN to DEC'],
  ['* * * JANUARY *', 'has an invalid month: "JANUARY" must be 1 to 12 or JAN to DEC'],
  ['* * * * 8', 'has an invalid weekday: "8" must be 0 to 7 or SUN to SAT'],
  ['* * * * 5#3', 'has an invalid weekday: "5#3" must be 0 to 7 or SUN to SAT (L, W'],
  ['* * * * FRIL', 'has an invalid weekday: "FRIL" must be 0 to 7 or SUN to SAT (L, W'],
  ['* * * * FRI-MON', 'has an invalid weekday: "FRI-MON" has the range FRI-MON, which runs backwards'],
  ['0 0 30 2 *', 'is never due: no month "2" has a day "30"'],
  ['0 0 31 4,6 *', 'is never due: no month "4,6" has a day "31"'],
  ['0 0 30-31 FEB *', 'is never due: no month "FEB" has a day "30-31"'],
];

it.each(INVALID)('`%s` is rejected: %s', (expression, detail) => {
  const parsed = parseCron(expression);
  if (parsed.kind === 'valid') expect.fail(`${expression} was read`);
  expect(parsed.detail).toContain(detail);
});

describe('long lists', () => {
  it('are parsed up to the maximum length, in time proportional to their values', () => {
    const list = `${'0-59,'.repeat(49)}0`;
    const parsed = parseCron(`${list} * * * *`);
    if (parsed.kind === 'invalid') expect.fail(parsed.detail);
    expect(parsed.cron.next(START)?.toISOString()).toBe('2026-01-01T00:01:00.000Z');
  });

  it('are quoted in errors only up to the maximum length', () => {
    const parsed = parseCron(`${'9'.repeat(240)} * * * *`);
    expect(parsed.kind === 'invalid' && parsed.detail.length < 400).toBe(true);
  });
});
