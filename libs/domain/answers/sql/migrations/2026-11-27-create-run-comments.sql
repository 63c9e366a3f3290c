-- Comments that agents have asked for with the tool `comment_on_source`, beside the one comment of their run.
CREATE TABLE headrace.run_comments (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  answer_id bigint NOT NULL REFERENCES headrace.run_answers (id) ON DELETE CASCADE,
  -- Of the request of the runner: a repeated one is the same comment.
  key text NOT NULL,
  body text NOT NULL,
  -- Part of the comment, and known to nobody before it exists.
  mark uuid NOT NULL DEFAULT gen_random_uuid(),
  state text NOT NULL DEFAULT 'pending' CONSTRAINT ck_run_comments__state CHECK (state IN ('pending', 'written', 'refused')),
  -- Why it was refused.
  problem text,
  comment_id text,
  attempts int NOT NULL DEFAULT 0,
  lease bigint NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL DEFAULT headrace.now(),
  created_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_run_comments__key ON headrace.run_comments (run_id, key);
CREATE INDEX ix_run_comments__answer ON headrace.run_comments (answer_id);
CREATE INDEX ix_run_comments__due ON headrace.run_comments (next_attempt_at) WHERE state = 'pending';
