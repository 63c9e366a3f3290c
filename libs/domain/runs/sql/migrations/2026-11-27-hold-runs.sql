-- A held run is QUEUED but is not placed: an earlier run of its concurrency key is active, or later events may replace it.
ALTER TABLE headrace.runs ADD COLUMN is_held boolean NOT NULL DEFAULT false;

-- The runs of a key that are executed one after the other, until they have ended. Only the first one is not held.
CREATE TABLE headrace.concurrency_queue (
  slot_key text NOT NULL,
  key text NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  run_id uuid NOT NULL UNIQUE REFERENCES headrace.runs (id) ON DELETE CASCADE,
  -- Not before this time. Null: as soon as it is the first one.
  start_at timestamptz,
  -- When the first of the runs was created that replaced each other, this one included.
  held_since timestamptz,
  -- The run that replaces it: it is cancelled as soon as its state allows it.
  replaced_by uuid,
  PRIMARY KEY (slot_key, key, position)
);
CREATE INDEX ix_concurrency_queue__replaced ON headrace.concurrency_queue (run_id) WHERE replaced_by IS NOT NULL;
