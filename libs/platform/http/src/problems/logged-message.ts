import { sqlState } from '#platform/persistence';

const MAX_DATABASE_MESSAGE = 200;

/** Messages of PostgreSQL repeat values that it cannot read: those were sent by callers and stay out of the log. */
export function loggedMessage(error: Error): string {
  if (sqlState(error) === null) return error.message;
  return error.message.replace(/: ".*$/s, ': …').slice(0, MAX_DATABASE_MESSAGE);
}
