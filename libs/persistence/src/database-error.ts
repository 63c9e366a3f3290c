/** SQLSTATE of a PostgreSQL error, or null for anything else. */
export function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  // A Unix socket whose queue of connections is full.
  'EAGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
]);
const CONNECTION_TEXT =
  /connection terminated|connection ended|timeout exceeded when trying to connect|not queryable|connection error/i;

/** Whether the database could not be reached or is going down or coming up: the caller may try again shortly. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null && (state.startsWith('08') || state.startsWith('57P') || state.startsWith('53'))) return true;
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && CONNECTION_CODES.has(code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  return CONNECTION_TEXT.test(error.message);
}

export const UNIQUE_VIOLATION = '23505';
/** Query cancelled, here by `statement_timeout`. */
export const QUERY_CANCELED = '57014';
