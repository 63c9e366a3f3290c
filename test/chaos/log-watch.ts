export interface ErrorLine {
  readonly source: string;
  readonly line: string;
}

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly logger?: string;
}

/** Messages at level error that killing explains: each names what was killed. */
const EXPLAINED: readonly RegExp[] = [
  /^PostgreSQL \(process \d+\) died; starting it again\.$/,
  /^PostgreSQL could not be started again/,
  // Runners whose servers are all away: one stops its agent by itself, another comes after its offer has expired.
  /^the lease is lost$/,
  /^the execution could not be claimed$/,
];

/**
 * Why a server cannot start, or has to try again, while its database is killed. PostgreSQL gives several reasons for a
 * terminated connection: a command of the administrator, a crash of another process, the exit of the postmaster.
 */
const DATABASE_AWAY =
  /Connection terminated|terminating connection|ECONNREFUSED|ECONNRESET|EPIPE|^the database system is |PostgreSQL ended while starting \(SIGKILL\)/;

/** Collects from the output of servers what nothing explains: lines at level error or fatal, and text that is no log line. */
export class LogWatch {
  readonly unexplained: ErrorLine[] = [];
  errors = 0;
  warnings = 0;

  /** Reads a line of the output of `source`. */
  read(source: string, line: string): void {
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
    // A server that serves must not end, which its supervisor checks.
    const isStart = parsed.level === 'fatal' || parsed.logger === 'ExceptionHandler';
    const isExplained = EXPLAINED.some((pattern) => pattern.test(message)) || (isStart && DATABASE_AWAY.test(message));
    if (!isExplained) this.unexplained.push({ source, line });
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
