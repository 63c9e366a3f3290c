import type { Assignment, SetupFailed } from '#execution/runner-protocol';
import type { Ending } from './interruption.js';

/** What to tell of a failure after which the session stays for a debug agent; null: it ends. */
export function retainedFailure(
  { failure_session_retention_minutes: minutes }: Assignment,
  { report: { error_code: code, message = '', exit_code: exitCode } }: Ending,
): SetupFailed | null {
  if (minutes === undefined || code !== 'environment_setup_failed') return null;
  return { message, ...(exitCode === undefined ? {} : { exit_code: exitCode }) };
}
