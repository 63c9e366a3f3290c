import { HttpException } from '@nestjs/common';
import type { ErrorCode } from '#platform/kernel';
import { isDatabaseUnavailable, QUERY_CANCELED, sqlState } from '#platform/persistence';
import { CODE_OF_STATUS, ProblemError } from './problem-error.js';

const RETRY_SOON_SECONDS = 2;

/** The problem for an error. An unknown error is an internal error whose cause is not shown to the caller. */
export function toProblemError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (isDatabaseUnavailable(error)) return unavailable('The database is temporarily unavailable.', error);
  if (sqlState(error) === QUERY_CANCELED)
    return unavailable('The query was cancelled because it took too long. Use narrower filters, or try again.', error);
  if (error instanceof HttpException) return fromStatus(error.getStatus(), error.message, error);
  if (isHttpError(error)) return fromStatus(error.status, error.message, error);
  if (error instanceof URIError)
    return new ProblemError('invalid_request', 'The path contains an invalid percent encoding.', { cause: error });
  return internal(error);
}

const unavailable = (detail: string, cause: unknown): ProblemError =>
  new ProblemError('resource_unavailable', detail, { retryAfterSeconds: RETRY_SOON_SECONDS, cause });

/** Errors of Express (package http-errors) have a status. */
interface HttpError extends Error {
  readonly status: number;
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && typeof (error as { status?: unknown }).status === 'number';
}

function fromStatus(status: number, message: string, cause: unknown): ProblemError {
  const code = (CODE_OF_STATUS as Readonly<Record<number, ErrorCode>>)[status];
  if (code !== undefined) return new ProblemError(code, message, { cause });
  return status >= 400 && status < 500 ? new ProblemError('invalid_request', message, { cause }) : internal(cause);
}

function internal(cause: unknown): ProblemError {
  return new ProblemError('internal_error', 'The server failed. The trace id identifies the request in its logs.', {
    cause,
  });
}
