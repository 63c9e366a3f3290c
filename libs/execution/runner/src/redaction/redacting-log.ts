import type { LogFields, RunnerLog } from '../runner-log.js';
import type { Redactor } from './redactor.js';

/** A log whose lines hold no secret value, whatever error text they repeat. */
export function redactingLog(log: RunnerLog, redactor: Redactor): RunnerLog {
  const through =
    (level: keyof RunnerLog) =>
    (message: string, fields: LogFields = {}): void =>
      log[level](redactor.text(message), redactor.json(fields) as LogFields);
  return { info: through('info'), warn: through('warn'), error: through('error') };
}
