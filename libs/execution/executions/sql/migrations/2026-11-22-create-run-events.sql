-- The append-only log of a run.

-- The sequence number of the latest event of each run.
CREATE TABLE headrace.run_heads (
  run_id uuid PRIMARY KEY REFERENCES headrace.runs (id) ON DELETE CASCADE,
  last_seq bigint NOT NULL
);

-- Monthly partitions by the time inside the run's UUIDv7; functions/ensure_run_event_partitions.sql creates them. Runs that
-- fit none are in the default partition.
CREATE TABLE headrace.run_events (
  run_id uuid NOT NULL,
  seq bigint NOT NULL,
  execution_id bigint,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
CREATE TABLE headrace.run_events_default PARTITION OF headrace.run_events DEFAULT;
