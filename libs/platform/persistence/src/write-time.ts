/**
 * SQL: the time at which a row is written. `headrace.now()` is the time at which the transaction began, which may have waited for
 * locks since.
 */
export const WRITE_TIME = `headrace.now() + (clock_timestamp() - pg_catalog.now())`;
