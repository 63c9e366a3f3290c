import { ProblemError } from '#platform/http';

/** The object store does not answer, or answers that it cannot at the moment: 503 to whoever asked, who may try again. */
export class ObjectStoreUnavailableError extends ProblemError {
  constructor(cause: unknown) {
    super('resource_unavailable', 'The object store does not answer at the moment.', { retryAfterSeconds: 5, cause });
    this.name = 'ObjectStoreUnavailableError';
  }
}

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** Names that the SDK gives: no answer in time, no credentials to be had now, asked too often. */
const TEMPORARY = new Set([
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

/** The error to tell: "unavailable" where waiting helps, otherwise the error itself. */
export function asStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProblemError) return error;
  const { code, name } = error as SdkError;
  const status = statusOf(error) ?? 0;
  const temporary =
    TEMPORARY.has(name) || (typeof code === 'string' && CONNECTION_CODES.has(code)) || status >= 500 || status === 429;
  return temporary ? new ObjectStoreUnavailableError(error) : error;
}

/** Runs one exchange with S3; its failures come out as {@link asStoreError} sees them. */
export async function talking<T>(exchange: () => Promise<T>): Promise<T> {
  try {
    return await exchange();
  } catch (error) {
    throw asStoreError(error);
  }
}
