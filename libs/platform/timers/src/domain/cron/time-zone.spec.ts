import { expect, it } from 'vitest';
import { isTimeZone } from './time-zone.js';

it.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Australia/Lord_Howe', 'Etc/GMT+5', 'Etc/UTC'])(
  '%s is a time zone',
  (name) => {
    expect(isTimeZone(name)).toBe(true);
  },
);

it.each([
  '',
  ' UTC',
  '+02:00',
  '-0500',
  '02:00',
  'Europe',
  'Europe/Atlantis',
  'UTC+1',
  'local',
  'x'.repeat(65),
  'UTC\0',
])('%j is no time zone', (name) => {
  expect(isTimeZone(name)).toBe(false);
});
