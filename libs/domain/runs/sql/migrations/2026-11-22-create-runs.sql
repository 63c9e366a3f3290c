-- Runs, and what is found and stored with them. `state = 'QUEUED'` is the queue (a partial index). Leases are columns of
-- executions, so that a heartbeat never writes the row of a run.
CREATE TABLE headrace.runs (
  id uuid PRIMARY KEY,
  team_uid text,
  owner_user_uid text,
  -- The owner as one key, `team:<uid>` or `user:<uid>`.
  slot_key text NOT NULL,
  pool text NOT NULL,
  state text NOT NULL CONSTRAINT ck_runs__state CHECK (state IN
    ('QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'SUCCEEDED', 'FAILED', 'BLOCKED', 'ERROR', 'CANCELLED')),
  title text NOT NULL,
  prompt text NOT NULL,
  source text NOT NULL,
  execution_location text NOT NULL,
  mode text NOT NULL,
  interactive boolean NOT NULL,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  executor_type text NOT NULL,
  executor_uid text NOT NULL,
  config jsonb NOT NULL,
  skill_spec text GENERATED ALWAYS AS (config->>'skill_spec') STORED,
  metadata jsonb,
  parent_run_id uuid,
  conversation_id uuid,
  conversation_format text,
  session_id text,
  status_message jsonb,
  offers smallint NOT NULL DEFAULT 0,
  prompt_taken boolean NOT NULL DEFAULT false,
  busy_ms bigint NOT NULL DEFAULT 0,
  transcript jsonb,
  queued_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  started_at timestamptz,
  environment_id text GENERATED ALWAYS AS (config->>'environment_id') STORED,
  ancestor_run_ids uuid[] NOT NULL DEFAULT '{}',
  schedule jsonb,
  trigger_url text,
  usage jsonb,
  -- The agent's session started in a debug window and does not contain the run's own instructions.
  session_in_debug boolean NOT NULL DEFAULT false,
  -- The skill as it was when the run was created. Null: the skill spec was not resolved.
  agent_skill jsonb,
  -- How often the loss of a worker restarted the run.
  restarts smallint NOT NULL DEFAULT 0,
  CONSTRAINT ck_runs__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1),
  CONSTRAINT ck_runs__failure_has_message CHECK (state NOT IN ('FAILED', 'ERROR') OR status_message IS NOT NULL)
);
CREATE INDEX ix_runs__queue ON headrace.runs (pool, slot_key, queued_at) WHERE state = 'QUEUED';

-- Every order of a list is an index that starts with the owner, so a page costs the same at any size of the table.
CREATE INDEX ix_runs__updated ON headrace.runs (slot_key, updated_at, id);
CREATE INDEX ix_runs__created ON headrace.runs (slot_key, created_at, id);
-- Titles are ordered without regard to case.
CREATE INDEX ix_runs__title ON headrace.runs (slot_key, (lower(title) COLLATE "C"), id);
-- A skill spec may be longer than an index entry: its first 500 characters decide the order.
CREATE INDEX ix_runs__agent ON headrace.runs (slot_key, (left(skill_spec, 500) COLLATE "C"), id);
CREATE INDEX ix_runs__state ON headrace.runs (slot_key, state, updated_at, id);
CREATE INDEX ix_runs__conversation ON headrace.runs (conversation_id, created_at, id) WHERE conversation_id IS NOT NULL;
-- A hash index: agents choose these ids, of any length.
CREATE INDEX ix_runs__session ON headrace.runs USING hash (session_id) WHERE session_id IS NOT NULL;

-- Idempotency-Key headers of requests, and the keys of runs that Headrace itself starts (is_launch), which are kept for as
-- long as the start may be tried again.
CREATE TABLE headrace.idempotency_keys (
  scope text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  is_launch boolean NOT NULL DEFAULT false,
  PRIMARY KEY (scope, key)
);
CREATE INDEX ix_idempotency_keys__created ON headrace.idempotency_keys (created_at);

-- Files that a run was created with.
CREATE TABLE headrace.run_attachments (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  position smallint NOT NULL,
  file_name text NOT NULL,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL CONSTRAINT ck_run_attachments__size CHECK (size_bytes >= 0),
  object_key text NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT uq_run_attachments__position UNIQUE (run_id, position)
);

-- What runs have produced. slot_key and run_created_at repeat the owner and the time of the run, which never change: to
-- find the newest of a caller's runs that refers to a URL is one probe of one index, however many other runs refer to it.
CREATE TABLE headrace.artifacts (
  uid text PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  execution_id bigint,
  source_key text NOT NULL,
  artifact_type text NOT NULL CONSTRAINT ck_artifacts__type CHECK (artifact_type IN
    ('PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'EXTERNAL_REFERENCE')),
  data jsonb NOT NULL,
  object_key text,
  -- The canonical URL. Null for pull requests whose URL is not known.
  locator text,
  run_created_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  -- Of the stored object, kept by the server for the limits of a run.
  size_bytes bigint NOT NULL DEFAULT 0,
  CONSTRAINT uq_artifacts__source UNIQUE (run_id, source_key),
  CONSTRAINT ck_artifacts__content CHECK ((object_key IS NOT NULL) = (artifact_type IN ('PLAN', 'SCREENSHOT', 'FILE'))),
  CONSTRAINT ck_artifacts__locator CHECK (locator IS NULL OR artifact_type IN ('PULL_REQUEST', 'EXTERNAL_REFERENCE')),
  CONSTRAINT ck_artifacts__reference CHECK (artifact_type <> 'EXTERNAL_REFERENCE' OR locator IS NOT NULL)
);
CREATE INDEX ix_artifacts__run ON headrace.artifacts (run_id, created_at, uid);
CREATE INDEX ix_artifacts__type ON headrace.artifacts (slot_key, artifact_type, run_id);
CREATE INDEX ix_artifacts__locator ON headrace.artifacts (md5(locator), slot_key, run_created_at, run_id)
  WHERE locator IS NOT NULL;
