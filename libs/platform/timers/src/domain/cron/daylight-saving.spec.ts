import { expect, it } from 'vitest';
import { parseCron } from './parse-cron.js';

interface Case {
  what: string;
  zone: string;
  cron: string;
  /** Due times later than this are looked at … */
  after: string;
  /** … and these, in UTC and to the minute, are the first of them. */
  due: string[];
}

const CASES: Case[] = [
  {
    what: 'a time in the gap is due once, when the gap ends (Berlin, 02:00 → 03:00)',
    zone: 'Europe/Berlin',
    cron: '30 2 * * *',
    after: '2026-03-28T00:00',
    due: ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30'],
  },
  {
    what: 'several times in the gap are one due time',
    zone: 'Europe/Berlin',
    cron: '*/15 2 * * *',
    after: '2026-03-28T01:30',
    due: ['2026-03-28T01:45', '2026-03-29T01:00', '2026-03-30T00:00'],
  },
  {
    what: 'a time in the gap and one at its end are one due time',
    zone: 'Europe/Berlin',
    cron: '0 1-4 * * *',
    after: '2026-03-28T22:00',
    due: ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00', '2026-03-29T23:00'],
  },
  {
    what: 'hours by a step are times of the wall clock',
    zone: 'Europe/Berlin',
    cron: '0 */2 * * *',
    after: '2026-03-28T22:30',
    due: ['2026-03-28T23:00', '2026-03-29T01:00', '2026-03-29T02:00', '2026-03-29T04:00'],
  },
  {
    what: 'a day that the gap’s time is not due on stays without',
    zone: 'Europe/Berlin',
    cron: '30 2 * * 1-5',
    after: '2026-03-27T12:00',
    due: ['2026-03-30T00:30', '2026-03-31T00:30'],
  },
  {
    what: 'every quarter of an hour continues over the gap',
    zone: 'Europe/Berlin',
    cron: '*/15 * * * *',
    after: '2026-03-29T00:30',
    due: ['2026-03-29T00:45', '2026-03-29T01:00', '2026-03-29T01:15'],
  },
  {
    what: 'every hour continues over the gap, without an extra time at its end',
    zone: 'Europe/Berlin',
    cron: '30 * * * *',
    after: '2026-03-28T23:45',
    due: ['2026-03-29T00:30', '2026-03-29T01:30', '2026-03-29T02:30'],
  },
  {
    what: 'hours that allow all are every hour however they are written',
    zone: 'Europe/Berlin',
    cron: '30 0-23/1 * * *',
    after: '2026-03-28T23:45',
    due: ['2026-03-29T00:30', '2026-03-29T01:30', '2026-03-29T02:30'],
  },
  {
    what: 'a time that comes twice is due the first time (Berlin, 03:00 → 02:00)',
    zone: 'Europe/Berlin',
    cron: '30 2 * * *',
    after: '2026-10-24T12:00',
    due: ['2026-10-25T00:30', '2026-10-26T01:30'],
  },
  {
    what: 'and so is each of several',
    zone: 'Europe/Berlin',
    cron: '*/30 2 * * *',
    after: '2026-10-24T12:00',
    due: ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-26T01:00'],
  },
  {
    what: 'asked between the first and the second, it is due on the next day',
    zone: 'Europe/Berlin',
    cron: '30 2 * * *',
    after: '2026-10-25T00:45',
    due: ['2026-10-26T01:30'],
  },
  {
    what: 'every half hour continues through both passes',
    zone: 'Europe/Berlin',
    cron: '*/30 * * * *',
    after: '2026-10-24T23:45',
    due: ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
  },
  {
    what: 'New York in spring (02:00 → 03:00)',
    zone: 'America/New_York',
    cron: '30 2 * * *',
    after: '2026-03-07T12:00',
    due: ['2026-03-08T07:00', '2026-03-09T06:30'],
  },
  {
    what: 'New York in autumn (02:00 → 01:00)',
    zone: 'America/New_York',
    cron: '30 1 * * *',
    after: '2026-10-31T12:00',
    due: ['2026-11-01T05:30', '2026-11-02T06:30'],
  },
  {
    what: 'Lord Howe moves by half an hour (02:00 → 02:30)',
    zone: 'Australia/Lord_Howe',
    cron: '15 2 * * *',
    after: '2026-10-03T00:00',
    due: ['2026-10-03T15:30', '2026-10-04T15:15'],
  },
  {
    what: 'every quarter of an hour on Lord Howe in spring',
    zone: 'Australia/Lord_Howe',
    cron: '*/15 * * * *',
    after: '2026-10-03T15:00',
    due: ['2026-10-03T15:15', '2026-10-03T15:30', '2026-10-03T15:45'],
  },
  {
    what: 'Lord Howe in autumn (02:00 → 01:30)',
    zone: 'Australia/Lord_Howe',
    cron: '45 1 * * *',
    after: '2026-04-04T00:00',
    due: ['2026-04-04T14:45', '2026-04-05T15:15'],
  },
  {
    what: 'every hour on Lord Howe in autumn is there each time',
    zone: 'Australia/Lord_Howe',
    cron: '45 * * * *',
    after: '2026-04-04T14:00',
    due: ['2026-04-04T14:45', '2026-04-04T15:15', '2026-04-04T16:15'],
  },
  {
    what: 'every quarter of an hour on Lord Howe in autumn',
    zone: 'Australia/Lord_Howe',
    cron: '*/15 * * * *',
    after: '2026-04-04T14:30',
    due: ['2026-04-04T14:45', '2026-04-04T15:00', '2026-04-04T15:15', '2026-04-04T15:30', '2026-04-04T15:45'],
  },
  {
    what: 'midnight in the gap is due at one (São Paulo, 00:00 → 01:00)',
    zone: 'America/Sao_Paulo',
    cron: '0 0 * * *',
    after: '2018-11-03T12:00',
    due: ['2018-11-04T03:00', '2018-11-05T02:00'],
  },
  {
    what: 'the last hour of a day that comes twice (São Paulo, 24:00 → 23:00)',
    zone: 'America/Sao_Paulo',
    cron: '30 23 * * *',
    after: '2018-02-17T12:00',
    due: ['2018-02-18T01:30', '2018-02-19T02:30'],
  },
  {
    what: 'São Paulo has no daylight saving any more',
    zone: 'America/Sao_Paulo',
    cron: '0 0 * * *',
    after: '2026-11-01T00:00',
    due: ['2026-11-01T03:00', '2026-11-02T03:00'],
  },
  {
    what: 'a day that the calendar leaves out has no due times (Apia, 30 December 2011)',
    zone: 'Pacific/Apia',
    cron: '0 9 * * *',
    after: '2011-12-29T00:00',
    due: ['2011-12-29T19:00', '2011-12-30T19:00', '2011-12-31T19:00'],
  },
  {
    what: 'not even when it is named',
    zone: 'Pacific/Apia',
    cron: '0 9 30 12 *',
    after: '2011-12-01T00:00',
    due: ['2012-12-29T19:00'],
  },
  {
    what: 'every hour continues over the day left out',
    zone: 'Pacific/Apia',
    cron: '0 * * * *',
    after: '2011-12-30T08:30',
    due: ['2011-12-30T09:00', '2011-12-30T10:00', '2011-12-30T11:00'],
  },
  {
    what: 'the gap continues into the next day, where the time in it is due (Nuuk, 23:00 → 24:00)',
    zone: 'America/Nuuk',
    cron: '30 23 * * 6',
    after: '2026-03-28T12:00',
    due: ['2026-03-29T01:00', '2026-04-05T00:30'],
  },
  {
    what: 'Kathmandu is five hours and three quarters ahead',
    zone: 'Asia/Kathmandu',
    cron: '0 6 * * *',
    after: '2026-03-29T00:00',
    due: ['2026-03-29T00:15', '2026-03-30T00:15'],
  },
  {
    what: 'UTC knows no gaps',
    zone: 'UTC',
    cron: '30 2 * * *',
    after: '2026-03-28T12:00',
    due: ['2026-03-29T02:30', '2026-03-30T02:30'],
  },
];

const HOUR_MS = 3600_000;
const minute = (text: string): Date => new Date(`${text}:00.000Z`);

it.each(CASES)('$what: `$cron`', ({ zone, cron, after, due }) => {
  const parsed = parseCron(cron, zone);
  if (parsed.kind === 'invalid') expect.fail(parsed.detail);
  expect(parsed.cron.upcoming(minute(after), due.length)).toEqual(due.map(minute));
  const last = minute(due.at(-1) ?? '');
  expect(parsed.cron.latest(minute(after), last)).toEqual(last);
});

const isLong = process.env.HEADRACE_TEST_LONG === '1';
const HOURS = isLong ? Array.from({ length: 24 }, (_, hour) => hour) : [0, 2, 23];
const ZONES = [
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'America/Nuuk',
  'Europe/London',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Atlantic/Azores',
  'Africa/Casablanca',
  'Asia/Tehran',
  'Pacific/Chatham',
];

it.each(ZONES)('%s: a time of day is due once per day for 730 days', (zone) => {
  for (const hour of HOURS) {
    const parsed = parseCron(`${(hour * 17) % 60} ${hour} * * *`, zone);
    if (parsed.kind === 'invalid') expect.fail(parsed.detail);
    const start = parsed.cron.next(minute('2025-01-02T12:00'));
    const times = parsed.cron.upcoming(start ?? new Date(), 730);
    const hours = times.slice(1).map((time, index) => (time.getTime() - (times[index]?.getTime() ?? 0)) / HOUR_MS);
    expect(Math.min(...hours)).toBeGreaterThanOrEqual(22.5);
    expect(Math.max(...hours)).toBeLessThanOrEqual(25);
    expect(((times.at(-1)?.getTime() ?? 0) - (start?.getTime() ?? 0)) / HOUR_MS).toBeCloseTo(730 * 24, -1);
  }
});

it.each(isLong ? ZONES : ['Australia/Lord_Howe'])(
  '%s, each quarter of an hour: 900 s from one due time to the next',
  (zone) => {
    const parsed = parseCron('*/15 * * * *', zone);
    if (parsed.kind === 'invalid') expect.fail(parsed.detail);
    for (const start of ['2025-03-01T00:00', '2025-09-01T00:00', '2026-03-01T00:00', '2026-09-01T00:00']) {
      const times = parsed.cron.upcoming(minute(start), 96 * 40);
      const steps = new Set(times.slice(1).map((time, index) => time.getTime() - (times[index]?.getTime() ?? 0)));
      expect([...steps]).toEqual([900_000]);
    }
  },
);
