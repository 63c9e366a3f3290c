import type { Clock } from '#platform/kernel';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** Never tokens, prompts or values of an environment. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log of the process that starts runners: the Nest logger of a server, or the log of the worker daemon. */
export type HostLog = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;
export type RunnerLog = Omit<HostLog, 'debug'>;

/** One JSON object a line: `{time, level, msg, …fields}`. Lines below the level `lowest` are dropped. */
export function jsonLinesLog(
  write: (line: string) => void,
  clock: Clock,
  base: LogFields = {},
  lowest: LogLevel = 'debug',
): HostLog {
  const at =
    (level: LogLevel) =>
    (msg: string, fields: LogFields = {}): void => {
      if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(lowest)) return;
      write(`${JSON.stringify({ time: clock.now().toISOString(), level, msg, ...base, ...fields })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
