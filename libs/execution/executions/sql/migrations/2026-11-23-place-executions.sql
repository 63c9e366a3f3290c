-- One function, place_executions, has replaced them.
DROP FUNCTION IF EXISTS headrace.place_runs(text, int, int, int, text);
DROP FUNCTION IF EXISTS headrace.place_worker_runs(text[], text[], int, int, text);
DROP FUNCTION IF EXISTS headrace.admit_debug_sessions(text, int, int);
