import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CronField, DAY, HOUR, MINUTE, MONTH, WEEKDAY } from './cron-fields.js';
import { parseCron } from './parse-cron.js';

const isLong = process.env.HEADRACE_TEST_LONG === '1';
const EXPRESSIONS = 200;
const DUE_TIMES = isLong ? 2000 : 150;
const TWO_YEARS_MS = 731 * 24 * 3600_000;

const fieldText = (field: CronField): fc.Arbitrary<string> => {
  const last = field.lowest + field.size - 1;
  const value = fc.integer({ min: field.lowest, max: last });
  const step = fc.integer({ min: 1, max: field.size });
  const name = (at: number, isNamed: boolean): string => (isNamed && field.names[at - field.lowest]) || String(at);
  // Parts in rising order without overlap: the oracle refuses a value that comes twice.
  const parts = fc
    .tuple(fc.uniqueArray(value, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.boolean()), step)
    .map(([values, coins, every]) => {
      const coin = (): boolean => coins.next().value === true;
      const rising = [...values].sort((a, b) => a - b);
      const list: string[] = [];
      for (let i = 0; i < rising.length; i += 1) {
        const [from = 0, to] = rising.slice(i, i + 2);
        if (to === undefined || coin()) list.push(name(from, coin()));
        else {
          list.push(`${name(from, coin())}-${name(to, coin())}${coin() ? `/${every}` : ''}`);
          i += 1;
        }
      }
      return list.join(',').toLowerCase();
    });
  const seven = field === WEEKDAY ? [{ weight: 1, arbitrary: fc.constantFrom('7', '5-7', '1,7', '6-7') }] : [];
  const every = { weight: field === DAY || field === WEEKDAY ? 3 : 1, arbitrary: fc.constant('*') };
  return fc.oneof(
    every,
    { weight: 1, arbitrary: step.map((n) => `*/${n}`) },
    { weight: 3, arbitrary: parts },
    ...seven,
  );
};

const expressions = fc.tuple(...[MINUTE, HOUR, DAY, MONTH, WEEKDAY].map(fieldText)).map((fields) => fields.join(' '));
const starts = fc.date({ min: new Date('2024-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });

/** Due times after `start` and within two years of it by the oracle; null where it says that there is none ever. */
function expectedTimes(expression: string, start: Date): number[] | null {
  try {
    const oracle = CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: start });
    const times: number[] = [];
    for (let time = oracle.next().getTime(); times.length < DUE_TIMES; time = oracle.next().getTime()) {
      if (time > start.getTime() + TWO_YEARS_MS) break;
      times.push(time);
    }
    return times;
  } catch (error) {
    expect(String(error)).toContain('Invalid explicit day of month definition');
    return null;
  }
}

it(
  `${EXPRESSIONS} random expressions are due when an independent library says, up to ${DUE_TIMES} times each`,
  {
    timeout: 300_000,
  },
  () => {
    let compared = 0;
    const property = fc.property(expressions, starts, (expression, start) => {
      const expected = expectedTimes(expression, start);
      const parsed = parseCron(expression);
      if (parsed.kind === 'invalid') {
        expect(parsed.detail).toContain('is never due');
        expect(expected).toBeNull();
        return fc.pre(false);
      }
      const end = start.getTime() + TWO_YEARS_MS;
      const times: number[] = [];
      let after: Date | null = start;
      while (times.length < DUE_TIMES) {
        after = parsed.cron.next(after);
        if (after === null || after.getTime() > end) break;
        times.push(after.getTime());
      }
      expect(times).toEqual(expected);
      compared += times.length;
    });
    fc.assert(property, { numRuns: EXPRESSIONS });
    expect(compared).toBeGreaterThan(EXPRESSIONS * 10);
  },
);

it('finds the same latest due time of a span as an enumeration', () => {
  const property = fc.property(
    expressions,
    starts,
    fc.integer({ min: 0, max: 3 * 24 * 3600_000 }),
    (text, start, span) => {
      const parsed = parseCron(text, 'Europe/Berlin');
      if (parsed.kind === 'invalid') return fc.pre(false);
      const until = new Date(start.getTime() + span);
      let walked: Date | null = null;
      for (let time = parsed.cron.next(start); time !== null && time <= until; time = parsed.cron.next(time))
        walked = time;
      expect(parsed.cron.latest(start, until)).toEqual(walked);
    },
  );
  fc.assert(property, { numRuns: 40 });
});

it.each([
  ['* * * * *', '2056-01-01T00:00:00Z', '2056-01-01T00:00:00Z'],
  ['30 2 * * *', '2056-01-01T00:00:00Z', '2055-12-31T02:30:00Z'],
  ['0 0 29 2 *', '2105-01-01T00:00:00Z', '2104-02-29T00:00:00Z'],
  ['0 0 29 2 *', '2103-01-01T00:00:00Z', '2096-02-29T00:00:00Z'],
])('the latest due time of `%s` between 2026 and %s is %s', (expression, until, latest) => {
  const parsed = parseCron(expression);
  if (parsed.kind === 'invalid') expect.fail(parsed.detail);
  expect(parsed.cron.latest(new Date('2026-01-01T00:00:00Z'), new Date(until))).toEqual(new Date(latest));
});

it('finds the next due time strictly after an instant, to the millisecond', () => {
  const parsed = parseCron('30 2 * * *');
  if (parsed.kind === 'invalid') expect.fail(parsed.detail);
  const next = (after: string): string | undefined => parsed.cron.next(new Date(after))?.toISOString();
  expect(next('2026-03-01T02:29:59.999Z')).toBe('2026-03-01T02:30:00.000Z');
  expect(next('2026-03-01T02:30:00.000Z')).toBe('2026-03-02T02:30:00.000Z');
  expect(next('2026-03-01T02:30:00.001Z')).toBe('2026-03-02T02:30:00.000Z');
  expect(parsed.cron.latest(new Date('2026-03-01T02:30:00Z'), new Date('2026-03-01T02:30:30Z'))).toBeNull();
});
