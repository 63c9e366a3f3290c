import { ERROR_CODES, type ErrorCode, type Issue } from '#platform/kernel';

export interface ProblemOptions {
  /** Validation: one entry per failing field. */
  readonly errors?: readonly Issue[];
  /** Extension members of the document (RFC 9457), beside those that every problem has. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Sent as `Retry-After`. */
  readonly retryAfterSeconds?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log; never shown to the caller. */
  readonly cause?: unknown;
}

/**
 * An answer other than success. Use cases return unions; the edge matches them and throws this; one filter turns it into
 * an `application/problem+json` document. `detail` is for the caller and names the field and the rule that failed.
 */
export class ProblemError extends Error {
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly options: ProblemOptions = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = 'ProblemError';
    // A code that appears on runs only has no status of its own; as an answer it would be our mistake.
    this.status = ERROR_CODES[code].status ?? 500;
  }
}
