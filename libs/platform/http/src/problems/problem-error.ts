import { ERROR_CODES, type ErrorCode, type Issue } from '#platform/kernel';

/** The code of errors that have a status only. */
export const CODE_OF_STATUS = {
  400: 'invalid_request',
  401: 'authentication_required',
  403: 'not_authorized',
  404: 'resource_not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  409: 'conflict',
  412: 'lease_lost',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'operation_not_supported',
  429: 'rate_limited',
  503: 'resource_unavailable',
} as const satisfies Readonly<Record<number, ErrorCode>>;

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

/** One filter answers with a problem document. `detail` names the field and the violated rule for the caller. */
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
