import { quoteValue } from './placeholders.js';
import type { EventTarget } from './trigger.js';

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** Of the limit of a target in an hour: a slow loop stays below that one, and another creates a new target each time. */
const DAY_FACTOR = 5;
const CONTAINER_FACTOR = 5;

export interface FiringLimit {
  readonly key: string;
  readonly name: string;
  readonly windowSeconds: number;
  readonly maximum: number;
}

/** How often one automation starts or continues runs for events of a target; `limit`: within an hour. Ends loops of automations. */
export function firingLimits({ key, name, container }: EventTarget, limit: number): readonly FiringLimit[] {
  return [
    { key, name, windowSeconds: HOUR, maximum: limit },
    { key: `day:${key}`, name, windowSeconds: DAY, maximum: limit * DAY_FACTOR },
    { ...container, key: `all:${container.key}`, windowSeconds: HOUR, maximum: limit * CONTAINER_FACTOR },
    {
      ...container,
      key: `all-day:${container.key}`,
      windowSeconds: DAY,
      maximum: limit * CONTAINER_FACTOR * DAY_FACTOR,
    },
  ];
}

export function limitReason({ name, windowSeconds, maximum }: FiringLimit): string {
  const period = windowSeconds === HOUR ? 'an hour' : 'a day';
  return `events of ${quoteValue(name)} have started this automation ${maximum} times within ${period}, which is the maximum (AUTOMATION_TARGET_LIMIT).`;
}
