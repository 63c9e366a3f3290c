import { ERROR_CODES, type ErrorCode } from '#platform/kernel';

/** A violated rule of the input, with an RFC 6901 pointer into the body, or `/name` of a query parameter. */
export interface Issue {
  readonly pointer: string;
  readonly detail: string;
}

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
 * A response other than success. Services return unions, controllers match them and throw this error, and one filter
 * answers with an `application/problem+json` document. `detail` names the field and the violated rule for the caller.
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
    // A code that appears on runs only has no status; to answer a request with it is a defect of the server.
    this.status = ERROR_CODES[code].status ?? 500;
  }
}
