/** Fields of a log line; never tokens, prompts or values of an environment. */
export type HostLogFields = Readonly<Record<string, unknown>>;

/** The log of this library: the Nest logger of a server, or the log of the daemon. */
export interface HostLog {
  debug(message: string, fields?: HostLogFields): void;
  info(message: string, fields?: HostLogFields): void;
  warn(message: string, fields?: HostLogFields): void;
  error(message: string, fields?: HostLogFields): void;
}

/** Runners log JSON lines; any other output is from a crash and logged as a warning. */
export function logRunnerLine(log: HostLog, line: string, executionId: string): void {
  try {
    const { level, msg, ...fields } = JSON.parse(line) as { level?: string; msg?: string };
    const message = msg ?? 'runner';
    const entry = { ...fields, execution_id: executionId };
    if (level === 'error') log.error(message, entry);
    else if (level === 'warn') log.warn(message, entry);
    else log.debug(message, entry);
  } catch {
    log.warn('runner output', { execution_id: executionId, line: line.slice(0, 2000) });
  }
}
