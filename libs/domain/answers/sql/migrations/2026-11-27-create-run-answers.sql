-- The issues and pull requests whose events have started or continued a run, and what was written there. `changes` counts what a
-- reader would see, so that a row is due when it is larger than at the last answer; `next_attempt_at` is also the end of a lease.
CREATE TABLE headrace.run_answers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  provider text NOT NULL CONSTRAINT ck_run_answers__provider CHECK (provider IN ('github', 'gitlab')),
  repository text NOT NULL,
  target_kind text NOT NULL CONSTRAINT ck_run_answers__target_kind CHECK (target_kind IN ('issue', 'pull_request')),
  target_number bigint NOT NULL,
  -- Of the events that have started or continued the run for the target: what the run does for another reason is not shown.
  launch_keys text[] NOT NULL DEFAULT '{}',
  -- comment, check, reaction; without those in `refused` they are written.
  parts text[] NOT NULL,
  refused text[] NOT NULL DEFAULT '{}',
  -- What a reaction is still to be added to.
  reactions text[] NOT NULL DEFAULT '{}',
  -- Part of the comment, and known to nobody before it exists: whose text has it first is the comment of the run.
  mark uuid NOT NULL DEFAULT gen_random_uuid(),
  comment_id text,
  comment_hash text,
  check_id text,
  check_sha text,
  check_hash text,
  changes bigint NOT NULL DEFAULT 1,
  answered_changes bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  lease bigint NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT headrace.now(),
  created_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_run_answers__target ON headrace.run_answers (run_id, provider, lower(repository), target_kind, target_number);
CREATE INDEX ix_run_answers__due ON headrace.run_answers (next_attempt_at) WHERE changes > answered_changes;
