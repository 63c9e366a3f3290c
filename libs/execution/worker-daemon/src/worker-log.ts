import type { HostLog, HostLogFields } from '#execution/runner-host';
import type { Clock } from '#platform/kernel';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** One JSON object a line: `{time, level, msg, …fields}`. Lines below the level are dropped. */
export function workerLog(write: (line: string) => void, clock: Clock, level: LogLevel): HostLog {
  const at =
    (own: LogLevel) =>
    (message: string, fields: HostLogFields = {}): void => {
      if (LOG_LEVELS.indexOf(own) < LOG_LEVELS.indexOf(level)) return;
      write(`${JSON.stringify({ time: clock.now().toISOString(), level: own, msg: message, ...fields })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
