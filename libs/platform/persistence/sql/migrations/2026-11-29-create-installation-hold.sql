-- At most one row. While it exists, processors do no work and nothing is placed: a restored backup must not start runs, fire
-- schedules or send messages while the installation that it comes from may still do so. A restore creates it before the schema.
CREATE TABLE IF NOT EXISTS headrace.installation_hold (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  held_at timestamptz NOT NULL,
  -- The restore has not ended: the rows are not complete, and no process starts.
  is_restoring boolean NOT NULL DEFAULT false
);
