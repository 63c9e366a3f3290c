-- An execution whose agent waits for runs that its run has started holds no slot, because these runs need one. `slot_wanted_at`: the
-- wait is over, and the agent continues when the execution has a slot again.
ALTER TABLE headrace.executions
  ADD COLUMN awaits_runs_since timestamptz,
  ADD COLUMN slot_wanted_at timestamptz;
CREATE INDEX ix_executions__slot_wanted ON headrace.executions (pool, slot_wanted_at) WHERE slot_wanted_at IS NOT NULL;
