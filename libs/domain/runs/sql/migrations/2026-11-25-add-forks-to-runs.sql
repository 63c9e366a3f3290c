-- The run from whose snapshot a run has started, and the sequence number of that snapshot in its log. No foreign key: a fork
-- outlives its source.
ALTER TABLE headrace.runs
  ADD COLUMN forked_from_run_id uuid,
  ADD COLUMN forked_from_seq bigint;
