import type { Clock } from '#platform/kernel';

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The log of the runner. Never contains the token, prompt text or values of the environment. */
export interface RunnerLog {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** One JSON object a line: `{time, level, msg, …fields}`. */
export function jsonLinesLog(write: (line: string) => void, clock: Clock, base: LogFields = {}): RunnerLog {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      write(`${JSON.stringify({ time: clock.now().toISOString(), level, msg: message, ...base, ...fields })}\n`);
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

/** The text of an error, for a log line or a failure message. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
