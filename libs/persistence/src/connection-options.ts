/** Every session of ours: our schema first, UTC, and no statement that runs for ever. */
export const SESSION_OPTIONS =
  '-c search_path=headrace,public -c timezone=UTC -c statement_timeout=30000 -c idle_in_transaction_session_timeout=60000';
