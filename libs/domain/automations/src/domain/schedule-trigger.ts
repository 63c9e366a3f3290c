import { createHash } from 'node:crypto';
import { type Cron, isTimeZone, parseCron } from '#platform/timers';
import { type Issue, pointerOf, type RejectionOf } from '#platform/kernel';
import { isObject } from './payload-filter/filter.js';
import type { Trigger } from './trigger.js';

export type ReadScheduleTrigger = { readonly kind: 'valid'; readonly cron: Cron } | RejectionOf<'invalid'>;

const KEYS = ['name', 'cron', 'timezone'];
const MAX_NAME = 128;

/** Parses the `schedule` of a `schedule` / `cron_fired` trigger: `cron`, and optionally a name and a time zone. */
export function readScheduleTrigger({ schedule }: Trigger): ReadScheduleTrigger {
  if (!isObject(schedule)) return invalid([{ pointer: '/schedule', detail: 'must be an object with cron' }]);
  const issues: Issue[] = Object.keys(schedule)
    .filter((key) => !KEYS.includes(key))
    .map((key) => ({
      pointer: pointerOf('schedule', key),
      detail: `is not a known field: a schedule has ${KEYS.join(', ')}`,
    }));
  const name = schedule.name ?? null;
  if (name !== null && (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME))
    issues.push({ pointer: '/schedule/name', detail: `must be text of 1 to ${MAX_NAME} characters` });
  const timezone = schedule.timezone ?? 'UTC';
  const isZone = typeof timezone === 'string' && isTimeZone(timezone);
  if (!isZone)
    issues.push({
      pointer: '/schedule/timezone',
      detail: 'must be the IANA name of a time zone, such as Europe/Berlin',
    });
  if (typeof schedule.cron !== 'string') return invalid([...issues, CRON_MISSING]);
  const parsed = parseCron(schedule.cron, isZone ? timezone : 'UTC');
  if (parsed.kind === 'invalid') return invalid([...issues, { pointer: '/schedule/cron', detail: parsed.detail }]);
  return issues.length > 0 ? invalid(issues) : { kind: 'valid', cron: parsed.cron };
}

/** The same for all triggers with the same due times; at most 200 characters. */
export function subjectOfCron({ expression, timezone }: Cron): string {
  const plain = `${expression} ${timezone}`;
  return plain.length <= 150 ? plain : createHash('sha256').update(plain).digest('hex');
}

const CRON_MISSING: Issue = { pointer: '/schedule/cron', detail: 'must be a cron expression of five fields' };
const invalid = (issues: readonly Issue[]): ReadScheduleTrigger => ({ kind: 'invalid', issues });
