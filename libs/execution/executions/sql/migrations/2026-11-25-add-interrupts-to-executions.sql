-- The last interrupt of an execution. It names the turn that was open when it was requested, so that it never ends a later one.
-- interrupt_expires_at is null when there is no interrupt, and from the end of the turn on.
ALTER TABLE headrace.executions
  ADD COLUMN interrupt_turn_id text,
  ADD COLUMN interrupt_by jsonb,
  ADD COLUMN interrupt_expires_at timestamptz;
CREATE INDEX ix_executions__interrupt ON headrace.executions (interrupt_expires_at)
  WHERE interrupt_expires_at IS NOT NULL AND ended_at IS NULL;
