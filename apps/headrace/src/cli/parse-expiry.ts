import { parseDuration } from '#platform/kernel';
import { UsageError } from './command.js';

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;
/** Later years have more digits, which neither the API nor the database reads. */
const LATEST = Date.parse('9999-12-31T23:59:59Z');

/** The moment that `--expires` names: a duration such as 30d after `now`, or a date of RFC 3339. */
export function parseExpiry(value: string, now: Date): Date {
  const duration = parseDuration(value);
  const at = duration === null ? (RFC3339.test(value) ? Date.parse(value) : NaN) : now.getTime() + duration;
  if (Number.isNaN(at))
    throw new UsageError('--expires must be a duration such as 30d or a date such as 2030-01-31T00:00:00Z');
  if (at > LATEST) throw new UsageError('--expires must not be later than the year 9999');
  return new Date(at);
}
