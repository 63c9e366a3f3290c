export interface ErrorLine {
  readonly source: string;
  readonly line: string;
}

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly logger?: string;
  readonly stack?: string;
}

/** Lines at level error that killing explains: each names what was taken away. */
const EXPLAINED: readonly RegExp[] = [
  /^PostgreSQL \(process \d+\) died; starting it again\.$/,
  /^PostgreSQL could not be started again/,
  // A runner whose servers are all away stops its agent by itself.
  /^the lease is lost$/,
];

/** What a start without its database says before it ends, or a supervised program beside its log. */
const EXPLAINED_TEXT: readonly RegExp[] = [/^$/];

/** Collects from the output of servers what nothing explains: lines at level error or fatal, and text that is no log line. */
export class LogWatch {
  readonly unexplained: ErrorLine[] = [];
  errors = 0;
  warnings = 0;

  /** A line of this program's output. */
  take(source: string, line: string): void {
    const parsed = parse(line);
    if (parsed === null) {
      if (/\bError\b|^\s+at |^node:/.test(line) && !EXPLAINED_TEXT.some((pattern) => pattern.test(line)))
        this.unexplained.push({ source, line });
      return;
    }
    if (parsed.level === 'warn') this.warnings += 1;
    if (parsed.level !== 'error' && parsed.level !== 'fatal') return;
    this.errors += 1;
    if (!EXPLAINED.some((pattern) => pattern.test(parsed.msg ?? ''))) this.unexplained.push({ source, line });
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
