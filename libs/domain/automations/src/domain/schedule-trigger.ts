import { createHash } from 'node:crypto';
import { type Cron, isTimeZone, parseCron } from '#platform/timers';
import { type Issue, pointerOf } from '#platform/kernel';
import type { Trigger } from './trigger.js';

export interface ScheduleOfTrigger {
  /** Null without a name. */
  readonly name: string | null;
  readonly cron: Cron;
}

export type ReadScheduleTrigger =
  ({ readonly kind: 'valid' } & ScheduleOfTrigger) | { readonly kind: 'invalid'; readonly issues: readonly Issue[] };

const KEYS = ['name', 'cron', 'timezone'];
const MAX_NAME = 128;

/** Parses the `schedule` of a `schedule` / `cron_fired` trigger: `cron`, and optionally a name and a time zone. */
export function readScheduleTrigger({ schedule }: Trigger): ReadScheduleTrigger {
  if (typeof schedule !== 'object' || schedule === null || Array.isArray(schedule))
    return invalid([{ pointer: '/schedule', detail: 'must be an object with cron' }]);
  const given = schedule as Readonly<Record<string, unknown>>;
  const issues: Issue[] = Object.keys(given)
    .filter((key) => !KEYS.includes(key))
    .map((key) => ({
      pointer: pointerOf('schedule', key),
      detail: `is not a known field: a schedule has ${KEYS.join(', ')}`,
    }));
  const name = given.name ?? null;
  if (name !== null && (typeof name !== 'string' || name.trim() === '' || name.length > MAX_NAME))
    issues.push({ pointer: '/schedule/name', detail: `must be text of 1 to ${MAX_NAME} characters` });
  const timezone = given.timezone ?? 'UTC';
  const isZone = typeof timezone === 'string' && isTimeZone(timezone);
  if (!isZone)
    issues.push({
      pointer: '/schedule/timezone',
      detail: 'must be the IANA name of a time zone, such as Europe/Berlin',
    });
  if (typeof given.cron !== 'string') return invalid([...issues, CRON_MISSING]);
  const parsed = parseCron(given.cron, isZone ? timezone : 'UTC');
  if (parsed.kind === 'invalid') return invalid([...issues, { pointer: '/schedule/cron', detail: parsed.detail }]);
  return issues.length > 0
    ? invalid(issues)
    : { kind: 'valid', name: typeof name === 'string' ? name : null, cron: parsed.cron };
}

/** The same for all triggers with the same due times; at most 200 characters. */
export function subjectOfCron({ expression, timezone }: Cron): string {
  const plain = `${expression} ${timezone}`;
  return plain.length <= 150 ? plain : createHash('sha256').update(plain).digest('hex');
}

const CRON_MISSING: Issue = { pointer: '/schedule/cron', detail: 'must be a cron expression of five fields' };
const invalid = (issues: readonly Issue[]): ReadScheduleTrigger => ({ kind: 'invalid', issues });
