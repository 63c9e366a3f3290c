export interface ErrorLine {
  readonly source: string;
  readonly line: string;
}

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
}

/** Messages at level error that killing explains: each names what was taken away. */
const EXPLAINED: readonly RegExp[] = [
  /^PostgreSQL \(process \d+\) died; starting it again\.$/,
  /^PostgreSQL could not be started again/,
  // A runner whose servers are all away stops its agent by itself.
  /^the lease is lost$/,
];

/** Why a start fails whose database is killed; the supervisor repeats it. A server that serves must not end, which is checked by its exit. */
const CONNECTION_LOST =
  /Connection terminated|ECONNREFUSED|ECONNRESET|EPIPE|(starting up|shutting down|recovery mode)$|due to administrator command/;

/** Collects from the output of servers what nothing explains: lines at level error or fatal, and text that is no log line. */
export class LogWatch {
  readonly unexplained: ErrorLine[] = [];
  errors = 0;
  warnings = 0;

  /** A line of this program's output. */
  take(source: string, line: string): void {
    const parsed = parse(line);
    if (parsed === null) {
      // What Node.js prints when an error is not handled.
      if (/\bError\b|^\s+at |^node:/.test(line)) this.unexplained.push({ source, line });
      return;
    }
    if (parsed.level === 'warn') this.warnings += 1;
    if (parsed.level !== 'error' && parsed.level !== 'fatal') return;
    this.errors += 1;
    const message = parsed.msg ?? '';
    const isFailedStart = parsed.level === 'fatal' && CONNECTION_LOST.test(message);
    if (!isFailedStart && !EXPLAINED.some((pattern) => pattern.test(message))) this.unexplained.push({ source, line });
  }
}

function parse(line: string): LogLine | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return null;
  }
}
