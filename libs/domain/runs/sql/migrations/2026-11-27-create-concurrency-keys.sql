-- The newest run of each key that runs of an owner were created with. A transaction that creates such a run locks the row, so
-- concurrent events see each other's run.
CREATE TABLE headrace.concurrency_keys (
  slot_key text NOT NULL,
  key text NOT NULL,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  -- When that happened which the run was created for: events can be handled in another order.
  event_at timestamptz NOT NULL,
  PRIMARY KEY (slot_key, key)
);
CREATE INDEX ix_concurrency_keys__run ON headrace.concurrency_keys (run_id);
