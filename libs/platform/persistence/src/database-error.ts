/** SQLSTATE of a PostgreSQL error, or null for anything else. */
export function sqlState(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Codes of Node for a connection that cannot be opened or broke. */
export const CONNECTION_CODES: readonly string[] = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
];
/** Codes of a Unix socket whose server is stopped, or whose queue of connections is full. */
const SOCKET_CODES: readonly unknown[] = ['ENOENT', 'EAGAIN'];
/** Texts of `pg` for errors without a code; the last one is its `query_timeout`. */
const CONNECTION_TEXT =
  /connection terminated|connection ended|timeout exceeded when trying to connect|not queryable|connection error|query read timeout/i;
/** Classes: connection exceptions, lack of resources (connections, memory, disk), and intervention by an operator. */
const UNAVAILABLE_CLASSES = ['08', '53', '57P'];
/** The database accepts no connections (ALLOW_CONNECTIONS false). */
const OBJECT_NOT_IN_PREREQUISITE_STATE = '55000';
/** The session is read-only, as on a standby after a failover. */
const READ_ONLY_TRANSACTION = '25006';

/** It starts or stops, is out of resources, or accepts no connections or no writes: the caller may retry shortly. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== null) {
    if (UNAVAILABLE_CLASSES.some((prefix) => state.startsWith(prefix))) return true;
    if (state === OBJECT_NOT_IN_PREREQUISITE_STATE || state === READ_ONLY_TRANSACTION) return true;
  }
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === 'string' && CONNECTION_CODES.includes(code)) return true;
  // Any other missing file is unrelated to the database.
  if (SOCKET_CODES.includes(code) && syscall === 'connect') return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  return CONNECTION_TEXT.test(error.message);
}

export const UNIQUE_VIOLATION = '23505';
export const FOREIGN_KEY_VIOLATION = '23503';
/** Query cancelled, here by `statement_timeout`. */
export const QUERY_CANCELED = '57014';
