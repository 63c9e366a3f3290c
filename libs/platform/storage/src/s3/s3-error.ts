import { ProblemError } from '#platform/http';
import { CONNECTION_CODES } from '#platform/persistence';
import { ObjectStoreUnavailableError } from '../object-store.js';

/** Codes of connections, and names of errors of the SDK: no response in time, no credentials now, too many requests. */
const TEMPORARY: ReadonlySet<unknown> = new Set([
  ...CONNECTION_CODES,
  'TimeoutError',
  'NetworkingError',
  'CredentialsProviderError',
  'ExpiredToken',
  'SlowDown',
  'ThrottlingException',
  'RequestTimeout',
  'ServiceUnavailable',
  'InternalError',
]);

interface SdkError extends Error {
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** HTTP status of an S3 answer that was an error; undefined when none came. */
export const statusOf = (error: unknown): number | undefined => (error as SdkError | null)?.$metadata?.httpStatusCode;

/** An {@link ObjectStoreUnavailableError} where a later attempt may succeed, otherwise the error itself. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProblemError) return error;
  const { code, name } = error as SdkError;
  const status = statusOf(error) ?? 0;
  const isTemporary = TEMPORARY.has(name) || TEMPORARY.has(code) || status >= 500 || status === 429;
  return isTemporary ? new ObjectStoreUnavailableError(error) : error;
}
