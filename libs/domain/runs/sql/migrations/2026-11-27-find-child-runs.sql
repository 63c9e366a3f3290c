-- Runs that the agent of their parent has started, with the tool `start_run`. They are cancelled with it.
ALTER TABLE headrace.runs ADD COLUMN started_by_run boolean NOT NULL DEFAULT false;
CREATE INDEX ix_runs__parent ON headrace.runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX ix_runs__active_children ON headrace.runs (parent_run_id)
  WHERE started_by_run AND state IN ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED');
