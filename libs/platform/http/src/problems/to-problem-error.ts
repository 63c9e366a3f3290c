import { HttpException } from '@nestjs/common';
import type { ErrorCode } from '#platform/kernel';
import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from '#platform/persistence';
import { ProblemError } from './problem-error.js';

const CODE_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
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
};

const RETRY_SOON_SECONDS = 2;

export const INCOMPLETE_BODY = 'The body ended before it was complete.';

/** The problem for an error. An unknown error is an internal error whose cause is not shown to the caller. */
export function toProblemError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (isDatabaseUnavailable(error)) {
    return new ProblemError('resource_unavailable', 'The database is temporarily unavailable.', {
      retryAfterSeconds: RETRY_SOON_SECONDS,
      cause: error,
    });
  }
  if (sqlState(error) === QUERY_CANCELED) {
    return new ProblemError(
      'resource_unavailable',
      'The query was cancelled because it took too long. Use narrower filters, or try again.',
      {
        retryAfterSeconds: RETRY_SOON_SECONDS,
        cause: error,
      },
    );
  }
  if (error instanceof HttpException) return fromStatus(error.getStatus(), error.message, error);
  if (isHttpError(error)) return fromHttpError(error);
  if (error instanceof URIError)
    return new ProblemError('invalid_request', 'The path contains an invalid percent encoding.', { cause: error });
  return internal(error);
}

/** Errors of Express middleware (package http-errors) have a status, those of body-parser also a type. */
interface HttpError extends Error {
  readonly status: number;
  readonly type?: string;
  readonly limit?: number;
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && typeof (error as { status?: unknown }).status === 'number';
}

function fromHttpError(error: HttpError): ProblemError {
  switch (error.type) {
    case 'entity.too.large':
      return new ProblemError('payload_too_large', `The body must not exceed ${error.limit ?? 0} bytes.`, {
        cause: error,
      });
    case 'encoding.unsupported':
      return new ProblemError(
        'unsupported_media_type',
        'Content-Encoding is not supported; send the body without one.',
        { cause: error },
      );
    case 'request.aborted':
      return new ProblemError('invalid_request', INCOMPLETE_BODY, { cause: error });
    case 'request.size.invalid':
      return new ProblemError('invalid_request', 'The length of the body differs from Content-Length.', {
        cause: error,
      });
    default:
      return fromStatus(error.status, error.message, error);
  }
}

function fromStatus(status: number, message: string, cause: unknown): ProblemError {
  const code = CODE_BY_STATUS[status];
  if (code !== undefined) return new ProblemError(code, message, { cause });
  return status >= 400 && status < 500 ? new ProblemError('invalid_request', message, { cause }) : internal(cause);
}

function internal(cause: unknown): ProblemError {
  return new ProblemError('internal_error', 'The server failed. The trace id identifies the request in its logs.', {
    cause,
  });
}
