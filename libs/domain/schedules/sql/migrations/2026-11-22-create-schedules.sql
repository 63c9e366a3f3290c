CREATE TABLE headrace.schedules (
  uid text PRIMARY KEY CONSTRAINT ck_schedules__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text REFERENCES headrace.teams (uid),
  owner_user_uid text REFERENCES headrace.users (uid),
  name text NOT NULL CONSTRAINT ck_schedules__name CHECK (btrim(name) <> ''),
  cron text NOT NULL,
  timezone text NOT NULL,
  prompt text NOT NULL,
  enabled boolean NOT NULL,
  agent_config jsonb,
  agent_identity_uid text,
  mode text NOT NULL,
  metadata jsonb,
  overlap_policy text NOT NULL CONSTRAINT ck_schedules__overlap CHECK (overlap_policy IN ('allow', 'skip')),
  jitter_seconds int NOT NULL CONSTRAINT ck_schedules__jitter CHECK (jitter_seconds BETWEEN 0 AND 3600),
  paused_reason text,
  creator_type text NOT NULL CONSTRAINT ck_schedules__creator CHECK (creator_type IN ('user', 'service_account')),
  creator_uid text NOT NULL,
  editor_type text NOT NULL CONSTRAINT ck_schedules__editor CHECK (editor_type IN ('user', 'service_account')),
  editor_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  last_ran_at timestamptz,
  last_run_id uuid,
  last_spawn_error text,
  failures int NOT NULL DEFAULT 0,
  CONSTRAINT ck_schedules__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1),
  CONSTRAINT ck_schedules__reason_of_paused CHECK (paused_reason IS NULL OR NOT enabled)
);
CREATE INDEX ix_schedules__team ON headrace.schedules (team_uid, lower(name), name, uid);
CREATE INDEX ix_schedules__owner ON headrace.schedules (owner_user_uid, lower(name), name, uid);

-- A transaction that creates or deletes schedules of an owner locks this row first, so the limit holds under concurrency.
CREATE TABLE headrace.schedule_counts (
  owner_key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_schedule_counts__used CHECK (used >= 0)
);

-- The outcome of each due time. One row with outcome `missed` covers all due times from due_at through missed_through.
CREATE TABLE headrace.schedule_firings (
  schedule_uid text NOT NULL REFERENCES headrace.schedules (uid) ON DELETE CASCADE,
  due_at timestamptz NOT NULL,
  outcome text NOT NULL CONSTRAINT ck_schedule_firings__outcome CHECK (outcome IN ('started', 'skipped', 'refused', 'missed')),
  run_id uuid,
  missed_through timestamptz,
  detail text,
  fired_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (schedule_uid, due_at),
  CONSTRAINT ck_schedule_firings__run CHECK ((outcome = 'started') = (run_id IS NOT NULL)),
  CONSTRAINT ck_schedule_firings__missed CHECK ((outcome = 'missed') = (missed_through IS NOT NULL))
);
CREATE INDEX ix_schedule_firings__fired_at ON headrace.schedule_firings USING brin (fired_at);
