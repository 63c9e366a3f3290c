/** Fields of a line of the log; never tokens, prompts or values of an environment. */
export type HostLogFields = Readonly<Record<string, unknown>>;

/** Where this library logs to: the Nest logger of a server, the daemon's own log. */
export interface HostLog {
  debug(message: string, fields?: HostLogFields): void;
  info(message: string, fields?: HostLogFields): void;
  warn(message: string, fields?: HostLogFields): void;
  error(message: string, fields?: HostLogFields): void;
}

/** Runners log JSON lines; anything else is a crash and worth a warning. */
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
