/** Our schema first, UTC, and a limit for each statement that the server enforces; 0 sets none. */
export const sessionOptions = (statementTimeoutMs: number): string =>
  `-c search_path=headrace,public -c timezone=UTC -c statement_timeout=${statementTimeoutMs} -c idle_in_transaction_session_timeout=60000`;

/** At most this much beyond the server's limit: a server that answers has cancelled the statement by then. */
const MAX_MARGIN_MS = 5_000;

/** How long the client waits for an answer, so that a lost connection does not hold a request for as long as TCP does. */
export const queryTimeoutMs = (statementTimeoutMs: number): number =>
  statementTimeoutMs + Math.min(MAX_MARGIN_MS, statementTimeoutMs);

/** How long opening one connection may take. */
export const CONNECT_TIMEOUT_MS = 5_000;
