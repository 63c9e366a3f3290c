-- At most one row. While it exists, processors do no work and nothing is placed: a restored backup must not start runs, fire
-- schedules or send messages while the installation that it comes from may still do so.
CREATE TABLE headrace.installation_hold (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  held_at timestamptz NOT NULL
);
