-- Durable timers. The process that fires a timer locks its row, so a statement that deletes or moves the timer waits for
-- the firing and is effective from its own commit.
CREATE TABLE headrace.timers (
  kind text NOT NULL,
  key text NOT NULL,
  cron text NOT NULL,
  timezone text NOT NULL,
  jitter_seconds int NOT NULL,
  due_at timestamptz NOT NULL,
  -- due_at plus the jitter of this time.
  fire_at timestamptz NOT NULL,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 70);
CREATE INDEX ix_timers__fire_at ON headrace.timers (fire_at, kind, key);

-- One row: when a process last checked for due timers.
CREATE TABLE headrace.timer_beat (
  "only" boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_timer_beat__only CHECK ("only"),
  at timestamptz NOT NULL
);

-- The periods in which no process checked for due timers.
CREATE TABLE headrace.timer_outages (
  from_at timestamptz NOT NULL,
  until_at timestamptz PRIMARY KEY
);
