-- The schema of version 0.1.0 at commit 95b390d, as its 41 migrations created it. A database that was made with it must be
-- upgraded without loss: see ../upgrade.e2e-spec.ts. Functions that a later migration replaced are left out.

CREATE SCHEMA IF NOT EXISTS headrace;

CREATE TABLE "schema_migrations" ("id" SERIAL NOT NULL, "timestamp" bigint NOT NULL, "name" character varying NOT NULL, CONSTRAINT "PK_62441bec32630ced9e4cccae336" PRIMARY KEY ("id"));

CREATE FUNCTION headrace.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT pg_catalog.now()';

CREATE TABLE headrace.teams (
  uid text PRIMARY KEY CONSTRAINT ck_teams__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  name text NOT NULL CONSTRAINT ck_teams__name CHECK (btrim(name) <> ''),
  max_concurrent_runs int CONSTRAINT ck_teams__max_concurrent_runs CHECK (max_concurrent_runs > 0),
  created_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE TABLE headrace.users (
  uid text PRIMARY KEY CONSTRAINT ck_users__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  email text NOT NULL CONSTRAINT ck_users__email CHECK (position('@' in email) > 1),
  display_name text NOT NULL,
  photo_url text,
  created_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_users__email ON headrace.users (lower(email));
CREATE TABLE headrace.service_accounts (
  uid text PRIMARY KEY CONSTRAINT ck_service_accounts__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE INDEX ix_service_accounts__team ON headrace.service_accounts (team_uid);
CREATE TABLE headrace.memberships (
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  user_uid text NOT NULL REFERENCES headrace.users (uid),
  role text NOT NULL CONSTRAINT ck_memberships__role CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (team_uid, user_uid)
);
CREATE INDEX ix_memberships__user ON headrace.memberships (user_uid);
CREATE TABLE headrace.tokens (
  uid text PRIMARY KEY CONSTRAINT ck_tokens__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  hash bytea NOT NULL CONSTRAINT ux_tokens__hash UNIQUE CONSTRAINT ck_tokens__hash CHECK (octet_length(hash) = 32),
  prefix text NOT NULL,
  name text NOT NULL,
  user_uid text REFERENCES headrace.users (uid),
  service_account_uid text REFERENCES headrace.service_accounts (uid),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  CONSTRAINT ck_tokens__one_principal CHECK (num_nonnulls(user_uid, service_account_uid) = 1)
);
CREATE INDEX ix_tokens__user ON headrace.tokens (user_uid) WHERE user_uid IS NOT NULL;
CREATE INDEX ix_tokens__service_account ON headrace.tokens (service_account_uid) WHERE service_account_uid IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000000001, 'Identity1700000000001');

ALTER TABLE headrace.teams
  ADD COLUMN default_model_id text CONSTRAINT ck_teams__default_model_id CHECK (btrim(default_model_id) <> ''),
  ADD COLUMN default_worker_host text CONSTRAINT ck_teams__default_worker_host CHECK (btrim(default_worker_host) <> ''),
  ADD COLUMN metadata_filter boolean NOT NULL DEFAULT true,
  ADD COLUMN schedules boolean NOT NULL DEFAULT true;
ALTER TABLE headrace.service_accounts ADD COLUMN disabled_at timestamptz;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000000002, 'Identity1700000000002');

CREATE TABLE headrace.discarded_objects (
  name text PRIMARY KEY,
  delete_after timestamptz NOT NULL
);
CREATE INDEX ix_discarded_objects__due ON headrace.discarded_objects (delete_after);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000000501, 'Storage1700000000501');

CREATE TABLE headrace.managed_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_managed_secrets__name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  version int NOT NULL DEFAULT 1,
  sealed text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ux_managed_secrets__team_name UNIQUE (team_uid, name)
);
CREATE TABLE headrace.managed_secret_counts (
  team_uid text PRIMARY KEY REFERENCES headrace.teams (uid),
  secrets int NOT NULL CONSTRAINT ck_managed_secret_counts__secrets CHECK (secrets >= 0)
);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000000601, 'Secrets1700000000601');

CREATE TABLE headrace.factories (
  uid text PRIMARY KEY CONSTRAINT ck_factories__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_factories__name CHECK (btrim(name) <> ''),
  description text NOT NULL DEFAULT '',
  alias text,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE INDEX ix_factories__team ON headrace.factories (team_uid, name);
CREATE UNIQUE INDEX ux_factories__team_alias ON headrace.factories (team_uid, alias) WHERE alias IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000001001, 'Factories1700000001001');

CREATE TABLE headrace.environments (
  uid text PRIMARY KEY CONSTRAINT ck_environments__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text REFERENCES headrace.teams (uid),
  owner_user_uid text REFERENCES headrace.users (uid),
  config jsonb NOT NULL CONSTRAINT ck_environments__config CHECK (jsonb_typeof(config) = 'object'),
  setup_failed boolean NOT NULL DEFAULT false,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  editor_type text NOT NULL,
  editor_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environments__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1)
);
CREATE INDEX ix_environments__team ON headrace.environments (team_uid, updated_at) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_environments__owner ON headrace.environments (owner_user_uid, updated_at) WHERE owner_user_uid IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000002001, 'Environments1700000002001');

CREATE TABLE headrace.agent_identities (
  uid text PRIMARY KEY REFERENCES headrace.service_accounts (uid),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_agent_identities__name CHECK (btrim(name) <> ''),
  description text,
  prompt text,
  environment_id text,
  default_runner_uid text NOT NULL DEFAULT '',
  worker_host text,
  base_model text,
  harness jsonb,
  skills text[] NOT NULL DEFAULT '{}',
  mcp_servers jsonb CONSTRAINT ck_agent_identities__mcp_servers CHECK (jsonb_typeof(mcp_servers) = 'object'),
  auto_memory boolean NOT NULL DEFAULT false,
  available boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_agent_identities__team_name ON headrace.agent_identities (team_uid, lower(name));
CREATE TABLE headrace.mcp_servers (
  uid text PRIMARY KEY CONSTRAINT ck_mcp_servers__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_mcp_servers__name CHECK (btrim(name) <> ''),
  description text,
  config jsonb NOT NULL CONSTRAINT ck_mcp_servers__one_way CHECK ((config ? 'command') <> (config ? 'url')),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE UNIQUE INDEX ux_mcp_servers__team_name ON headrace.mcp_servers (team_uid, lower(name));

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000002501, 'Agents1700000002501');

CREATE TABLE headrace.runs (
  id uuid PRIMARY KEY,
  team_uid text,
  owner_user_uid text,
  slot_key text NOT NULL,
  pool text NOT NULL,
  state text NOT NULL CONSTRAINT ck_runs__state CHECK (state IN
    ('QUEUED','PENDING','CLAIMED','INPROGRESS','SUCCEEDED','FAILED','BLOCKED','ERROR','CANCELLED')),
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
  CONSTRAINT ck_runs__one_owner CHECK (num_nonnulls(team_uid, owner_user_uid) = 1),
  CONSTRAINT ck_runs__failure_has_message CHECK (state NOT IN ('FAILED','ERROR') OR status_message IS NOT NULL)
);
CREATE INDEX ix_runs__queue ON headrace.runs (pool, slot_key, queued_at) WHERE state = 'QUEUED';
CREATE INDEX ix_runs__team_created ON headrace.runs (team_uid, created_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__team_updated ON headrace.runs (team_uid, updated_at, id) WHERE team_uid IS NOT NULL;
CREATE INDEX ix_runs__owner_updated ON headrace.runs (owner_user_uid, updated_at, id) WHERE owner_user_uid IS NOT NULL;
CREATE TABLE headrace.slot_pools (
  key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_slot_pools__not_negative CHECK (used >= 0),
  capacity int NOT NULL CHECK (capacity >= 0)
);
CREATE TABLE headrace.executions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  pool text NOT NULL,
  phase text NOT NULL CONSTRAINT ck_executions__phase CHECK (phase IN ('offered','claimed','started','idle','ended')),
  lease_epoch int NOT NULL DEFAULT 0,
  placed_by text NOT NULL,
  instance_id text,
  slot_held boolean NOT NULL,
  desired text NOT NULL DEFAULT 'run' CONSTRAINT ck_executions__desired CHECK (desired IN ('run','stop','kill','close')),
  desired_reason text,
  fence_at timestamptz,
  command_version bigint NOT NULL DEFAULT 1,
  acked_seq bigint NOT NULL DEFAULT 0,
  idle_timeout_ms int NOT NULL,
  offered_at timestamptz NOT NULL,
  lease_expires_at timestamptz NOT NULL,
  claimed_at timestamptz,
  started_at timestamptz,
  busy_since timestamptz,
  idle_since timestamptz,
  ended_at timestamptz,
  end_reason text,
  exit_code int,
  CONSTRAINT ck_executions__ended CHECK ((phase = 'ended') = (ended_at IS NOT NULL)),
  CONSTRAINT ck_executions__ended_holds_no_slot CHECK (phase <> 'ended' OR NOT slot_held),
  CONSTRAINT ck_executions__idle CHECK ((phase = 'idle') = (idle_since IS NOT NULL AND ended_at IS NULL))
);
CREATE UNIQUE INDEX uq_executions__one_live_per_run ON headrace.executions (run_id) WHERE ended_at IS NULL;
CREATE INDEX ix_executions__run ON headrace.executions (run_id, id);
CREATE INDEX ix_executions__idle ON headrace.executions (pool, idle_since) WHERE phase = 'idle';
CREATE INDEX ix_executions__live ON headrace.executions (lease_expires_at) WHERE ended_at IS NULL;
CREATE TABLE headrace.run_heads (
  run_id uuid PRIMARY KEY REFERENCES headrace.runs (id) ON DELETE CASCADE,
  last_seq bigint NOT NULL
);
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
CREATE TABLE headrace.idempotency_keys (
  scope text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (scope, key)
);
CREATE INDEX ix_idempotency_keys__created ON headrace.idempotency_keys (created_at);
CREATE TABLE headrace.run_followups (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  position bigint GENERATED ALWAYS AS IDENTITY,
  message text NOT NULL,
  mode text,
  outcome text NOT NULL,
  author_type text NOT NULL,
  author_uid text NOT NULL,
  created_at timestamptz NOT NULL,
  consumed_at timestamptz,
  execution_id bigint
);
CREATE INDEX ix_run_followups__pending ON headrace.run_followups (run_id, position) WHERE consumed_at IS NULL;
CREATE TABLE headrace.approvals (
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  id text NOT NULL,
  execution_id bigint NOT NULL,
  tool_call_id text,
  title text NOT NULL,
  input jsonb,
  options jsonb NOT NULL,
  state text NOT NULL CONSTRAINT ck_approvals__state CHECK (state IN ('pending','allowed','denied')),
  decided_via text CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user','timeout','cancel')),
  decided_by_type text,
  decided_by_uid text,
  note text,
  requested_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  PRIMARY KEY (run_id, id),
  CONSTRAINT ck_approvals__decision CHECK ((state = 'pending') = (decided_at IS NULL))
);
CREATE INDEX ix_approvals__pending ON headrace.approvals (expires_at) WHERE state = 'pending';

CREATE FUNCTION headrace.release_slot(p_execution bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text;
BEGIN
  UPDATE headrace.executions SET slot_held = false WHERE id = p_execution AND slot_held
    RETURNING slot_key, pool INTO v_key, v_pool;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
  UPDATE headrace.slot_pools SET used = used - 1 WHERE key = v_key;
  RETURN true;
END $$;
CREATE FUNCTION headrace.uuid_floor(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
CREATE FUNCTION headrace.ensure_run_event_partitions(p_months_ahead int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_from timestamptz; v_to timestamptz; v_name text;
BEGIN
  FOR i IN 0..p_months_ahead LOOP
    v_from := date_trunc('month', headrace.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => i);
    v_to := date_trunc('month', headrace.now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => i + 1);
    v_name := 'run_events_' || to_char(v_from AT TIME ZONE 'UTC', 'YYYY_MM');
    IF to_regclass('headrace.' || v_name) IS NULL THEN
      EXECUTE format('CREATE TABLE headrace.%I PARTITION OF headrace.run_events FOR VALUES FROM (%L) TO (%L)',
        v_name, headrace.uuid_floor(v_from), headrace.uuid_floor(v_to));
    END IF;
  END LOOP;
END $$;

CREATE TABLE headrace.run_events_2026_11 PARTITION OF headrace.run_events FOR VALUES FROM ('01a19467-e800-0000-0000-000000000000') TO ('01a22ee6-b000-0000-0000-000000000000');

CREATE TABLE headrace.run_events_2026_12 PARTITION OF headrace.run_events FOR VALUES FROM ('01a22ee6-b000-0000-0000-000000000000') TO ('01a2ce8b-d400-0000-0000-000000000000');

CREATE TABLE headrace.run_events_2027_01 PARTITION OF headrace.run_events FOR VALUES FROM ('01a2ce8b-d400-0000-0000-000000000000') TO ('01a36e30-f800-0000-0000-000000000000');

CREATE TABLE headrace.run_events_2027_02 PARTITION OF headrace.run_events FOR VALUES FROM ('01a36e30-f800-0000-0000-000000000000') TO ('01a3fe63-0800-0000-0000-000000000000');

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003001, 'Runs1700000003001');

ALTER TABLE headrace.runs
  ADD COLUMN environment_id text GENERATED ALWAYS AS (config->>'environment_id') STORED,
  ADD COLUMN ancestor_run_ids uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN schedule jsonb,
  ADD COLUMN trigger_url text,
  ADD COLUMN usage jsonb;
WITH RECURSIVE lineage AS (
  SELECT id, ARRAY[]::uuid[] AS ancestors FROM headrace.runs WHERE parent_run_id IS NULL
  UNION ALL
  SELECT r.id, l.ancestors || l.id FROM headrace.runs r JOIN lineage l ON r.parent_run_id = l.id
)
UPDATE headrace.runs r SET ancestor_run_ids = l.ancestors FROM lineage l WHERE r.id = l.id AND r.parent_run_id IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003002, 'Runs1700000003002');

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE FUNCTION headrace.search_fold(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT replace(translate(replace(lower(p_text COLLATE pg_catalog."pg_c_utf8"), 'i̇', 'i'), 'ςı', 'σi'), 'ß', 'ss')
$$;

CREATE FUNCTION headrace.run_token(p_slot_key text, p_kind text, p_value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(p_slot_key || chr(31) || p_kind || chr(31) || p_value, 0)
$$;
CREATE FUNCTION headrace.run_tokens(p_slot_key text, p_creator text, p_executor text, p_source text, p_location text,
  p_config jsonb, p_schedule jsonb, p_metadata jsonb, p_ancestors uuid[]) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE v_tokens bigint[]; v_key text; v_value text; v_ancestor uuid;
BEGIN
  v_tokens := array_remove(ARRAY[
    headrace.run_token(p_slot_key, 'creator', p_creator),
    headrace.run_token(p_slot_key, 'executor', p_executor),
    headrace.run_token(p_slot_key, 'source', p_source),
    headrace.run_token(p_slot_key, 'execution_location', p_location),
    headrace.run_token(p_slot_key, 'name', p_config->>'name'),
    headrace.run_token(p_slot_key, 'model_id', p_config->>'model_id'),
    headrace.run_token(p_slot_key, 'model_id', p_config->'harness'->>'model_id'),
    headrace.run_token(p_slot_key, 'environment_id', coalesce(p_config->>'environment_id', 'empty-environment')),
    headrace.run_token(p_slot_key, 'skill_spec', p_config->>'skill_spec'),
    headrace.run_token(p_slot_key, 'schedule_id', p_schedule->>'schedule_id')], NULL);
  FOREACH v_ancestor IN ARRAY coalesce(p_ancestors, '{}') LOOP
    v_tokens := v_tokens || headrace.run_token(p_slot_key, 'ancestor_run_id', v_ancestor::text);
  END LOOP;
  IF jsonb_typeof(p_metadata) = 'object' THEN
    FOR v_key, v_value IN SELECT key, value FROM jsonb_each_text(p_metadata) LOOP
      v_tokens := v_tokens || headrace.run_token(p_slot_key, 'metadata ' || v_key, v_value);
    END LOOP;
  END IF;
  RETURN v_tokens;
END $$;
CREATE FUNCTION headrace.run_search_text(p_title text, p_prompt text, p_skill_spec text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT headrace.search_fold(p_title || chr(10) || coalesce(p_skill_spec, '') || chr(10) || left(p_prompt, 4096))
$$;

CREATE TABLE headrace.run_facets (
  run_id uuid PRIMARY KEY,
  slot_key text NOT NULL,
  tokens bigint[] NOT NULL,
  search text COLLATE pg_catalog."pg_c_utf8" NOT NULL
);

INSERT INTO headrace.run_facets (run_id, slot_key, tokens, search)
SELECT r.id, r.slot_key,
       headrace.run_tokens(r.slot_key, r.creator_uid, r.executor_uid, r.source, r.execution_location, r.config, r.schedule, r.metadata, r.ancestor_run_ids),
       headrace.run_search_text(r.title, r.prompt, r.config->>'skill_spec')
  FROM headrace.runs r;

CREATE INDEX ix_run_facets__tokens ON headrace.run_facets USING gin (tokens) WITH (gin_pending_list_limit = 1024);
CREATE INDEX ix_run_facets__search ON headrace.run_facets USING gin (slot_key, search gin_trgm_ops) WITH (gin_pending_list_limit = 1024);
CREATE INDEX ix_runs__updated ON headrace.runs (slot_key, updated_at, id);
CREATE INDEX ix_runs__created ON headrace.runs (slot_key, created_at, id);
CREATE INDEX ix_runs__title ON headrace.runs (slot_key, (lower(title) COLLATE "C"), id);
CREATE INDEX ix_runs__agent ON headrace.runs (slot_key, (left(skill_spec, 500) COLLATE "C"), id);
CREATE INDEX ix_runs__state ON headrace.runs (slot_key, state, updated_at, id);
DROP INDEX headrace.ix_runs__team_created, headrace.ix_runs__team_updated, headrace.ix_runs__owner_updated;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003003, 'Runs1700000003003');

CREATE TABLE headrace.artifacts (
  uid text PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  slot_key text NOT NULL,
  execution_id bigint,
  source_key text NOT NULL,
  artifact_type text NOT NULL CONSTRAINT ck_artifacts__type CHECK (artifact_type IN
    ('PLAN','PULL_REQUEST','SCREENSHOT','FILE','EXTERNAL_REFERENCE')),
  data jsonb NOT NULL,
  object_key text,
  locator text,
  run_created_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT uq_artifacts__source UNIQUE (run_id, source_key),
  CONSTRAINT ck_artifacts__content CHECK ((object_key IS NOT NULL) = (artifact_type IN ('PLAN','SCREENSHOT','FILE'))),
  CONSTRAINT ck_artifacts__locator CHECK ((locator IS NOT NULL) = (artifact_type = 'EXTERNAL_REFERENCE'))
);
CREATE INDEX ix_artifacts__run ON headrace.artifacts (run_id, created_at, uid);
CREATE INDEX ix_artifacts__type ON headrace.artifacts (slot_key, artifact_type, run_id);
CREATE INDEX ix_artifacts__locator ON headrace.artifacts (md5(locator), slot_key, run_created_at, run_id)
  WHERE locator IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003004, 'Runs1700000003004');

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
CREATE INDEX ix_runs__conversation ON headrace.runs (conversation_id, created_at, id) WHERE conversation_id IS NOT NULL;
CREATE INDEX ix_runs__session ON headrace.runs USING hash (session_id) WHERE session_id IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003005, 'Runs1700000003005');

CREATE TABLE headrace.retention_walks (
  kind text PRIMARY KEY CONSTRAINT ck_retention_walks__kind CHECK (kind IN ('runs','transcripts','timelines')),
  upto timestamptz NOT NULL DEFAULT '-infinity',
  until timestamptz,
  slot_key text NOT NULL DEFAULT '',
  updated_at timestamptz NOT NULL DEFAULT '-infinity',
  run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  revisit uuid[] NOT NULL DEFAULT '{}'
);
INSERT INTO headrace.retention_walks (kind) VALUES ('runs'), ('transcripts'), ('timelines');
CREATE INDEX ix_run_followups__run ON headrace.run_followups (run_id);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003006, 'Runs1700000003006');

CREATE TABLE headrace.facet_repairs (
  only_row boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_facet_repairs__one CHECK (only_row),
  upto uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
);
INSERT INTO headrace.facet_repairs DEFAULT VALUES;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000003007, 'Runs1700000003007');

CREATE TABLE headrace.conversation_folds (
  run_id uuid NOT NULL,
  format text NOT NULL,
  format_version int NOT NULL,
  turn int NOT NULL CONSTRAINT ck_conversation_folds__turn CHECK (turn >= 0),
  upto_seq bigint NOT NULL CONSTRAINT ck_conversation_folds__upto_seq CHECK (upto_seq > 0),
  fold jsonb NOT NULL,
  CONSTRAINT pk_conversation_folds PRIMARY KEY (run_id, format, format_version, turn)
);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000004001, 'Conversations1700000004001');

CREATE TABLE headrace.webhooks (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid text NOT NULL CONSTRAINT ux_webhooks__uid UNIQUE CONSTRAINT ck_webhooks__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  factory_uid text NOT NULL REFERENCES headrace.factories (uid),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_webhooks__name CHECK (btrim(name) <> ''),
  auth_mode text NOT NULL CONSTRAINT ck_webhooks__auth_mode CHECK (auth_mode IN ('token', 'url_token', 'signature')),
  signature_scheme text CONSTRAINT ck_webhooks__scheme CHECK ((auth_mode = 'signature') = (signature_scheme IS NOT NULL)),
  delivery_id_header text,
  enabled boolean NOT NULL,
  enables_with_secret boolean NOT NULL DEFAULT false,
  source text NOT NULL CONSTRAINT ck_webhooks__source CHECK (source IN ('api', 'definition')),
  secret_name text NOT NULL,
  secret_owned boolean NOT NULL,
  secret_version int,
  sealed_secret text,
  secret_pending boolean NOT NULL DEFAULT false,
  sealed_captured_secret text,
  version int NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  deleted_at timestamptz,
  CONSTRAINT ck_webhooks__enabled_has_secret CHECK (NOT enabled OR sealed_secret IS NOT NULL OR secret_pending),
  CONSTRAINT ck_webhooks__enables_with_secret CHECK (NOT enables_with_secret OR NOT enabled AND sealed_secret IS NULL AND NOT secret_pending),
  CONSTRAINT ck_webhooks__secret_has_version CHECK ((sealed_secret IS NULL) = (secret_version IS NULL))
);
CREATE INDEX ix_webhooks__factory ON headrace.webhooks (factory_uid, id) WHERE deleted_at IS NULL;
CREATE INDEX ix_webhooks__secret ON headrace.webhooks (team_uid, secret_name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX ux_webhooks__definition_name ON headrace.webhooks (factory_uid, name) WHERE source = 'definition' AND deleted_at IS NULL;
CREATE INDEX ix_webhooks__deleted ON headrace.webhooks (id) WHERE deleted_at IS NOT NULL;
CREATE TABLE headrace.webhook_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid),
  webhooks int NOT NULL CONSTRAINT ck_webhook_counts__webhooks CHECK (webhooks >= 0)
);
CREATE TABLE headrace.webhook_rates (
  webhook_id bigint PRIMARY KEY,
  head int NOT NULL DEFAULT 0,
  stamps timestamptz[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);
CREATE TABLE headrace.webhook_deliveries (
  webhook_id bigint NOT NULL,
  id uuid NOT NULL,
  outcome "char" NOT NULL CONSTRAINT ck_webhook_deliveries__outcome CHECK (outcome IN ('A', 'D', 'U', 'J', 'L', 'H')),
  identity_kind text,
  identity text,
  duplicate_of uuid,
  redelivery_of uuid,
  occurrences int NOT NULL DEFAULT 1,
  size_bytes int NOT NULL,
  received_at timestamptz NOT NULL,
  source_ip text NOT NULL,
  headers jsonb,
  trace_id text,
  body bytea,
  evaluated_at timestamptz,
  results jsonb,
  evaluate_at timestamptz NOT NULL DEFAULT headrace.now(),
  evaluation_attempts smallint NOT NULL DEFAULT 0,
  evaluation_error text,
  PRIMARY KEY (webhook_id, id),
  CONSTRAINT ck_webhook_deliveries__only_accepted_keep_payload CHECK ((outcome = 'A') = (body IS NOT NULL)),
  CONSTRAINT ck_webhook_deliveries__only_accepted_are_evaluated CHECK (evaluated_at IS NULL OR outcome = 'A' AND results IS NOT NULL)
);
ALTER TABLE headrace.webhook_deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX ix_webhook_deliveries__unevaluated ON headrace.webhook_deliveries (webhook_id, id, evaluate_at)
  WHERE outcome = 'A' AND evaluated_at IS NULL;
CREATE INDEX ix_webhook_deliveries__evaluated ON headrace.webhook_deliveries (webhook_id, id)
  WHERE outcome = 'A' AND evaluated_at IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__redelivery ON headrace.webhook_deliveries (webhook_id, id) WHERE redelivery_of IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__other ON headrace.webhook_deliveries (webhook_id, outcome, id) WHERE outcome <> 'A';
CREATE TABLE headrace.webhook_identities (
  webhook_id bigint NOT NULL,
  key bytea NOT NULL,
  delivery_id uuid NOT NULL,
  accepted_at timestamptz NOT NULL,
  PRIMARY KEY (webhook_id, key)
);
CREATE INDEX ix_webhook_identities__accepted ON headrace.webhook_identities USING brin (accepted_at);
INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000005001, 'Webhooks1700000005001');

CREATE TABLE headrace.automations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid text NOT NULL CONSTRAINT ux_automations__uid UNIQUE CONSTRAINT ck_automations__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  team_uid text NOT NULL,
  name text NOT NULL CONSTRAINT ck_automations__name CHECK (btrim(name) <> ''),
  enabled boolean NOT NULL,
  prompt text NOT NULL,
  agent_config jsonb,
  agent_identity_uid text,
  source text NOT NULL CONSTRAINT ck_automations__source CHECK (source IN ('api', 'definition')),
  author_type text NOT NULL CONSTRAINT ck_automations__author CHECK (author_type IN ('user', 'service_account')),
  author_uid text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE INDEX ix_automations__factory_name ON headrace.automations (factory_uid, name, uid);
CREATE UNIQUE INDEX ux_automations__definition ON headrace.automations (factory_uid, name) WHERE source = 'definition';
CREATE TABLE headrace.automation_triggers (
  automation_id bigint NOT NULL REFERENCES headrace.automations (id) ON DELETE CASCADE,
  position int NOT NULL CONSTRAINT ck_automation_triggers__position CHECK (position >= 0),
  factory_uid text NOT NULL,
  provider text NOT NULL,
  event text NOT NULL,
  subject text NOT NULL,
  trigger jsonb NOT NULL,
  PRIMARY KEY (automation_id, position)
);
CREATE INDEX ix_automation_triggers__subject ON headrace.automation_triggers (factory_uid, provider, event, subject, automation_id, position);
CREATE TABLE headrace.automation_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  used int NOT NULL CONSTRAINT ck_automation_counts__used CHECK (used >= 0)
);
CREATE TABLE headrace.automation_stamps (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  stamp bigint NOT NULL
);
CREATE FUNCTION headrace.move_automation_stamps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO headrace.automation_stamps (factory_uid, stamp)
  SELECT DISTINCT c.factory_uid, 1 FROM changed c JOIN headrace.factories f ON f.uid = c.factory_uid ORDER BY 1
  ON CONFLICT (factory_uid) DO UPDATE SET stamp = automation_stamps.stamp + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER tr_automations__insert_moves_stamp AFTER INSERT ON headrace.automations
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE TRIGGER tr_automations__update_moves_stamp AFTER UPDATE ON headrace.automations
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE TRIGGER tr_automations__delete_moves_stamp AFTER DELETE ON headrace.automations
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE TRIGGER tr_automation_triggers__insert_moves_stamp AFTER INSERT ON headrace.automation_triggers
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE TRIGGER tr_automation_triggers__update_moves_stamp AFTER UPDATE ON headrace.automation_triggers
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE TRIGGER tr_automation_triggers__delete_moves_stamp AFTER DELETE ON headrace.automation_triggers
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000006001, 'Automations1700000006001');

ALTER TABLE headrace.idempotency_keys ADD COLUMN is_launch boolean NOT NULL DEFAULT false;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000006101, 'Runs1700000006101');

ALTER TABLE headrace.agent_identities ADD COLUMN factory_uid text;
CREATE UNIQUE INDEX ux_agent_identities__team_factory_name
  ON headrace.agent_identities (team_uid, coalesce(factory_uid, ''), lower(name));
DROP INDEX headrace.ux_agent_identities__team_name;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000006301, 'Agents1700000006301');

CREATE TABLE headrace.factory_definitions (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  agent_defaults jsonb NOT NULL CONSTRAINT ck_factory_definitions__agent_defaults CHECK (jsonb_typeof(agent_defaults) = 'object'),
  applied_by_type text NOT NULL CONSTRAINT ck_factory_definitions__applied_by CHECK (applied_by_type IN ('user', 'service_account')),
  applied_by_uid text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT headrace.now()
);
CREATE TABLE headrace.factory_files (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  path text COLLATE "C" NOT NULL,
  content text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (factory_uid, path)
);
CREATE TABLE headrace.factory_agents (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  identity_uid text NOT NULL CONSTRAINT ux_factory_agents__identity UNIQUE,
  PRIMARY KEY (factory_uid, name)
);
CREATE TABLE headrace.factory_resources (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  kind text COLLATE "C" NOT NULL CONSTRAINT ck_factory_resources__kind CHECK (kind IN ('factory', 'webhook', 'automation', 'agent')),
  name text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (factory_uid, kind, name)
);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000006401, 'Definitions1700000006401');

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
CREATE TABLE headrace.schedule_counts (
  owner_key text PRIMARY KEY,
  used int NOT NULL CONSTRAINT ck_schedule_counts__used CHECK (used >= 0)
);
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
CREATE TABLE headrace.timers (
  kind text NOT NULL,
  key text NOT NULL,
  cron text NOT NULL,
  timezone text NOT NULL,
  jitter_seconds int NOT NULL,
  due_at timestamptz NOT NULL,
  fire_at timestamptz NOT NULL,
  PRIMARY KEY (kind, key)
) WITH (fillfactor = 70);
CREATE INDEX ix_timers__fire_at ON headrace.timers (fire_at, kind, key);
CREATE TABLE headrace.timer_beat (
  "only" boolean PRIMARY KEY DEFAULT true CONSTRAINT ck_timer_beat__only CHECK ("only"),
  at timestamptz NOT NULL
);
CREATE TABLE headrace.timer_outages (
  from_at timestamptz NOT NULL,
  until_at timestamptz PRIMARY KEY
);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000007001, 'Schedules1700000007001');

CREATE TABLE headrace.environment_grants (
  uid text PRIMARY KEY CONSTRAINT ck_environment_grants__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  environment_uid text NOT NULL REFERENCES headrace.environments (uid) ON DELETE CASCADE,
  user_uid text REFERENCES headrace.users (uid) ON DELETE CASCADE,
  team_uid text REFERENCES headrace.teams (uid) ON DELETE CASCADE,
  access text NOT NULL DEFAULT 'use' CONSTRAINT ck_environment_grants__access CHECK (access = 'use'),
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environment_grants__one_grantee CHECK (num_nonnulls(user_uid, team_uid) = 1),
  CONSTRAINT uq_environment_grants__user UNIQUE (environment_uid, user_uid),
  CONSTRAINT uq_environment_grants__team UNIQUE (environment_uid, team_uid)
);
CREATE INDEX ix_environment_grants__user ON headrace.environment_grants (user_uid);
CREATE INDEX ix_environment_grants__team ON headrace.environment_grants (team_uid);
CREATE TABLE headrace.environment_links (
  uid text PRIMARY KEY CONSTRAINT ck_environment_links__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  environment_uid text NOT NULL REFERENCES headrace.environments (uid) ON DELETE CASCADE,
  token_hash bytea NOT NULL CONSTRAINT uq_environment_links__token_hash UNIQUE
    CONSTRAINT ck_environment_links__token_hash CHECK (octet_length(token_hash) = 32),
  expires_at timestamptz,
  max_uses int CONSTRAINT ck_environment_links__max_uses CHECK (max_uses > 0),
  uses int NOT NULL DEFAULT 0,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environment_links__uses CHECK (uses >= 0 AND (max_uses IS NULL OR uses <= max_uses)),
  CONSTRAINT uq_environment_links__environment UNIQUE (environment_uid, uid)
);
CREATE TABLE headrace.environment_link_holders (
  link_uid text NOT NULL,
  environment_uid text NOT NULL,
  user_uid text NOT NULL REFERENCES headrace.users (uid) ON DELETE CASCADE,
  redeemed_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (link_uid, user_uid),
  CONSTRAINT fk_environment_link_holders__link FOREIGN KEY (environment_uid, link_uid)
    REFERENCES headrace.environment_links (environment_uid, uid) ON DELETE CASCADE
);
CREATE INDEX ix_environment_link_holders__link ON headrace.environment_link_holders (environment_uid, link_uid);
CREATE INDEX ix_environment_link_holders__user ON headrace.environment_link_holders (user_uid, environment_uid);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000007101, 'Environments1700000007101');

ALTER TABLE headrace.executions
  ADD COLUMN debug_window_ms int,
  ADD COLUMN debug_until timestamptz,
  DROP CONSTRAINT ck_executions__phase,
  DROP CONSTRAINT ck_executions__idle,
  ADD CONSTRAINT ck_executions__phase CHECK (phase IN ('offered','claimed','started','idle','debug','ended')),
  ADD CONSTRAINT ck_executions__idle CHECK (phase IN ('debug','ended') OR (phase = 'idle') = (idle_since IS NOT NULL)),
  ADD CONSTRAINT ck_executions__debug CHECK (phase = 'ended' OR (phase = 'debug') = (debug_until IS NOT NULL));
CREATE INDEX ix_executions__debug ON headrace.executions (pool, idle_since) WHERE phase = 'debug';
ALTER TABLE headrace.run_followups
  ADD COLUMN debug_execution_id bigint,
  ADD COLUMN reroutes smallint NOT NULL DEFAULT 0;
ALTER TABLE headrace.runs ADD COLUMN session_in_debug boolean NOT NULL DEFAULT false;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000007301, 'Runs1700000007301');

ALTER TABLE headrace.runs ADD COLUMN agent_skill jsonb;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000007601, 'Runs1700000007601');

CREATE TABLE headrace.worker_connections (
  id uuid PRIMARY KEY,
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  worker_host text NOT NULL CONSTRAINT ck_worker_connections__worker_host CHECK (btrim(worker_host) <> ''),
  instance uuid NOT NULL,
  connected_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  alive_until timestamptz NOT NULL,
  worker_instance text,
  version text,
  backend text,
  slots int,
  free_slots int CONSTRAINT ck_worker_connections__free_slots CHECK (free_slots >= 0),
  draining boolean NOT NULL DEFAULT false,
  rejected_until timestamptz,
  harnesses jsonb NOT NULL DEFAULT '[]',
  skills jsonb NOT NULL DEFAULT '[]'
) WITH (fillfactor = 70);
CREATE INDEX ix_worker_connections__host ON headrace.worker_connections (team_uid, worker_host);
CREATE INDEX ix_worker_connections__instance ON headrace.worker_connections (instance);
CREATE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int) LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots FROM headrace.worker_connections w
  WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
    AND (rejected_until IS NULL OR rejected_until <= headrace.now())
$$;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000008001, 'Workers1700000008001');

ALTER TABLE headrace.executions ADD COLUMN worker_connection_id uuid, ADD COLUMN offer_sent_at timestamptz,
  ADD COLUMN worker_adopted_at timestamptz;
ALTER TABLE headrace.runs ADD COLUMN restarts smallint NOT NULL DEFAULT 0;
CREATE INDEX ix_executions__worker ON headrace.executions (worker_connection_id)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX ix_executions__worker_pool ON headrace.executions (pool, slot_key)
  WHERE worker_connection_id IS NOT NULL AND ended_at IS NULL;

CREATE FUNCTION headrace.tell_worker_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_runs', NEW.team_uid || ' ' || substr(NEW.pool, 8));
  RETURN NULL;
END $$;
CREATE TRIGGER tr_runs__queued_for_worker AFTER INSERT ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.tell_worker_run();
CREATE TRIGGER tr_runs__requeued_for_worker AFTER UPDATE OF state, pool ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.tell_worker_run();
CREATE FUNCTION headrace.tell_worker_to_stop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_stops', NEW.worker_connection_id || ' ' || NEW.run_id || ' ' || NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER tr_executions__worker_to_stop AFTER UPDATE OF desired ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.ended_at IS NULL AND NEW.desired IN ('stop', 'kill')
    AND NEW.desired IS DISTINCT FROM OLD.desired)
  EXECUTE FUNCTION headrace.tell_worker_to_stop();
CREATE TRIGGER tr_executions__worker_given_up AFTER UPDATE OF ended_at ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.offer_sent_at IS NOT NULL AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL
    AND NEW.end_reason IN ('claim_expired', 'lease_expired', 'fenced'))
  EXECUTE FUNCTION headrace.tell_worker_to_stop();

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000008101, 'Runs1700000008101');

CREATE TABLE headrace.harness_installations (
  instance uuid CONSTRAINT pk_harness_installations PRIMARY KEY,
  harnesses jsonb NOT NULL,
  last_seen_at timestamptz NOT NULL,
  CONSTRAINT ck_harness_installations__list CHECK (jsonb_typeof(harnesses) = 'array')
);

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000008301, 'HarnessInstallations1700000008301');

ALTER TABLE headrace.approvals
  ADD COLUMN slot_key text,
  ADD COLUMN subject jsonb,
  ADD COLUMN always boolean NOT NULL DEFAULT false,
  ADD COLUMN rule_id text,
  DROP CONSTRAINT ck_approvals__decided_via,
  ADD CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user','rule','timeout','cancel')),
  ADD CONSTRAINT ck_approvals__always CHECK (NOT always OR (state = 'allowed' AND decided_via = 'user'));
UPDATE headrace.approvals a SET slot_key = r.slot_key FROM headrace.runs r WHERE r.id = a.run_id;
CREATE FUNCTION headrace.own_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT slot_key INTO NEW.slot_key FROM headrace.runs WHERE id = NEW.run_id;
  RETURN NEW;
END $$;
CREATE TRIGGER tr_approvals__owner BEFORE INSERT ON headrace.approvals
  FOR EACH ROW WHEN (NEW.slot_key IS NULL) EXECUTE FUNCTION headrace.own_approval();
ALTER TABLE headrace.approvals ALTER COLUMN slot_key SET NOT NULL;
CREATE INDEX ix_approvals__owner ON headrace.approvals (slot_key, state, requested_at, run_id, id);
ALTER TABLE headrace.executions ADD COLUMN ceiling_at timestamptz;
CREATE INDEX ix_executions__ceiling ON headrace.executions (ceiling_at) WHERE ceiling_at IS NOT NULL;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000008401, 'Runs1700000008401');

CREATE TABLE headrace.notification_webhooks (
  uid text PRIMARY KEY CONSTRAINT ck_notification_webhooks__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_notification_webhooks__name CHECK (btrim(name) <> ''),
  url text NOT NULL,
  events text[] NOT NULL CONSTRAINT ck_notification_webhooks__events CHECK (cardinality(events) > 0),
  enabled boolean NOT NULL,
  disabled_reason text,
  secret text NOT NULL,
  previous_secret text,
  previous_secret_until timestamptz,
  failures int NOT NULL DEFAULT 0,
  failing_since timestamptz,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_notification_webhooks__reason CHECK (NOT enabled OR disabled_reason IS NULL),
  CONSTRAINT ck_notification_webhooks__failing CHECK ((failures > 0) = (failing_since IS NOT NULL))
);
CREATE INDEX ix_notification_webhooks__team ON headrace.notification_webhooks (team_uid);
CREATE TABLE headrace.notification_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id text NOT NULL DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  webhook_uid text NOT NULL REFERENCES headrace.notification_webhooks (uid) ON DELETE CASCADE,
  run_id uuid REFERENCES headrace.runs (id) ON DELETE CASCADE,
  type text NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL DEFAULT 'pending'
    CONSTRAINT ck_notification_deliveries__status CHECK (status IN ('pending','delivered','failed','dropped')),
  attempts int NOT NULL DEFAULT 0,
  log jsonb NOT NULL DEFAULT '[]',
  next_attempt_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  finished_at timestamptz,
  CONSTRAINT ck_notification_deliveries__pending
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL) AND (status = 'pending') = (finished_at IS NULL))
);
CREATE INDEX ix_notification_deliveries__due ON headrace.notification_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX ix_notification_deliveries__webhook ON headrace.notification_deliveries (webhook_uid, id);
CREATE INDEX ix_notification_deliveries__run ON headrace.notification_deliveries (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX ix_notification_deliveries__finished ON headrace.notification_deliveries (finished_at)
  WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX uq_notification_deliveries__one_test ON headrace.notification_deliveries (webhook_uid)
  WHERE status = 'pending' AND type = 'webhook.test';

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000009001, 'Notifications1700000009001');

ALTER TABLE headrace.webhook_deliveries ADD COLUMN evaluation_losses smallint NOT NULL DEFAULT 0;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000009301, 'WebhookLosses1700000009301');

ALTER TABLE headrace.slot_pools
  ADD COLUMN turn bigint NOT NULL DEFAULT 0,
  ADD COLUMN owner_cursor text NOT NULL DEFAULT '';

CREATE FUNCTION headrace.owner_capacity(p_slot_key text, p_default int) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT t.max_concurrent_runs FROM headrace.teams t
                    WHERE starts_with(p_slot_key, 'team:') AND t.uid = substr(p_slot_key, 6)), p_default)
$$;

CREATE OR REPLACE FUNCTION headrace.acquire_slot(p_execution bigint, p_owner_capacity int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_key text; v_pool text; v_held boolean; v_capacity int;
BEGIN
  SELECT slot_key, pool, slot_held INTO v_key, v_pool, v_held
    FROM headrace.executions WHERE id = p_execution AND ended_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF v_held OR v_pool <> 'hosted' THEN RETURN true; END IF;
  v_capacity := headrace.owner_capacity(v_key, p_owner_capacity);
  UPDATE headrace.slot_pools SET used = used + 1 WHERE key = 'pool:' || v_pool AND used < capacity;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO headrace.slot_pools AS s (key, used, capacity) VALUES (v_key, 1, p_owner_capacity)
    ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity WHERE s.used < v_capacity;
  IF NOT FOUND THEN
    UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || v_pool;
    RETURN false;
  END IF;
  UPDATE headrace.executions SET slot_held = true WHERE id = p_execution;
  RETURN true;
END $$;

CREATE FUNCTION headrace.sessions_to_admit(p_pool text, p_max int, p_owner_capacity int, p_phase text)
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  SELECT w.id FROM (
    SELECT e.id, e.idle_since, coalesce(s.used, 0) + row_number() OVER (PARTITION BY e.slot_key ORDER BY e.idle_since) AS nth,
           headrace.owner_capacity(e.slot_key, p_owner_capacity) AS capacity
      FROM (
        SELECT i.id, i.slot_key, i.idle_since FROM headrace.executions i
         WHERE p_phase = 'idle' AND i.pool = p_pool AND i.phase = 'idle' AND NOT i.slot_held AND i.desired = 'run'
           AND EXISTS (SELECT 1 FROM headrace.run_followups f WHERE f.run_id = i.run_id AND f.consumed_at IS NULL)
        UNION ALL
        SELECT d.id, d.slot_key, d.idle_since FROM headrace.executions d
         WHERE p_phase = 'debug' AND d.pool = p_pool AND d.phase = 'debug' AND NOT d.slot_held AND d.desired = 'run'
           AND EXISTS (SELECT 1 FROM headrace.run_followups f
                        WHERE f.run_id = d.run_id AND f.debug_execution_id = d.id AND f.consumed_at IS NULL)
      ) e LEFT JOIN headrace.slot_pools s ON s.key = e.slot_key
  ) w WHERE w.nth <= w.capacity ORDER BY w.nth, w.idle_since LIMIT p_max
$$;

CREATE OR REPLACE FUNCTION headrace.admit_debug_sessions(p_pool text, p_max int, p_owner_capacity int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE candidate bigint; v_admitted int := 0;
BEGIN
  PERFORM 1 FROM headrace.slot_pools s WHERE s.key = 'pool:' || p_pool AND s.used < s.capacity;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR candidate IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, 'debug') LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = candidate AND e.phase = 'debug' AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(candidate, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', candidate::text);
      v_admitted := v_admitted + 1;
    END IF;
  END LOOP;
  RETURN v_admitted;
END $$;

CREATE OR REPLACE FUNCTION headrace.place_runs(p_pool text, p_max int, p_owner_capacity int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid) LANGUAGE plpgsql AS $$
DECLARE
  c_owners_a_call CONSTANT int := 200;
  candidate record; v_session bigint; v_now timestamptz := headrace.now(); v_after text; v_turn bigint; v_placed int := 0;
  v_owners text[]; v_used int[]; v_capacity int[]; v_order bigint[]; v_walked int; v_last text; v_chosen int; v_count int;
BEGIN
  SELECT s.owner_cursor INTO v_after FROM headrace.slot_pools s WHERE s.key = 'pool:' || p_pool AND s.used < s.capacity;
  IF NOT FOUND THEN RETURN; END IF;
  FOR v_session IN SELECT headrace.sessions_to_admit(p_pool, p_max, p_owner_capacity, 'idle') LOOP
    PERFORM 1 FROM headrace.executions e
      WHERE e.id = v_session AND e.phase = 'idle' AND NOT e.slot_held AND e.desired = 'run' FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    IF headrace.acquire_slot(v_session, p_owner_capacity) THEN
      PERFORM pg_notify('headrace_commands', v_session::text);
    END IF;
  END LOOP;
  WITH RECURSIVE walk AS (
    SELECT v_after AS slot_key, false AS wrapped, 0 AS nth
    UNION ALL
    SELECT coalesce(following.slot_key, ''), w.wrapped OR following.slot_key IS NULL, w.nth + 1
      FROM walk w LEFT JOIN LATERAL (
        SELECT r.slot_key FROM headrace.runs r
         WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key > w.slot_key ORDER BY r.slot_key LIMIT 1) following ON true
     WHERE w.nth < c_owners_a_call AND (NOT w.wrapped OR following.slot_key <= v_after)
  ), owners AS (
    SELECT w.slot_key, w.nth, coalesce(s.used, 0) AS used, coalesce(s.turn, 0) AS turn,
           coalesce(t.max_concurrent_runs, p_owner_capacity) AS capacity
      FROM walk w LEFT JOIN headrace.slot_pools s ON s.key = w.slot_key
        LEFT JOIN headrace.teams t ON starts_with(w.slot_key, 'team:') AND t.uid = substr(w.slot_key, 6)
     WHERE w.nth > 0
  )
  SELECT max(o.nth), max(o.slot_key) FILTER (WHERE o.nth = c_owners_a_call),
         array_agg(o.slot_key ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.used ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.capacity ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity),
         array_agg(o.turn ORDER BY o.turn, o.nth) FILTER (WHERE o.slot_key <> '' AND o.used < o.capacity)
    INTO v_walked, v_last, v_owners, v_used, v_capacity, v_order FROM owners o;
  IF v_walked = c_owners_a_call THEN
    UPDATE headrace.slot_pools SET owner_cursor = v_last WHERE key = 'pool:' || p_pool;
  END IF;
  WHILE v_placed < p_max LOOP
    SELECT o.place INTO v_chosen FROM unnest(v_used, v_capacity, v_order) WITH ORDINALITY AS o (used, capacity, turn, place)
     WHERE o.used < o.capacity ORDER BY o.used, o.turn, o.place LIMIT 1;
    EXIT WHEN NOT FOUND;
    SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes INTO candidate FROM headrace.runs r
     WHERE r.state = 'QUEUED' AND r.pool = p_pool AND r.slot_key = v_owners[v_chosen]
       AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL OFFSET 0)
     ORDER BY r.queued_at LIMIT 1 FOR NO KEY UPDATE OF r SKIP LOCKED;
    IF NOT FOUND THEN
      v_used[v_chosen] := NULL;
      CONTINUE;
    END IF;
    UPDATE headrace.slot_pools SET used = used + 1, turn = turn + 1 WHERE key = 'pool:' || p_pool AND used < capacity
      RETURNING turn INTO v_turn;
    EXIT WHEN NOT FOUND;
    INSERT INTO headrace.slot_pools AS s (key, used, capacity, turn) VALUES (v_owners[v_chosen], 1, p_owner_capacity, v_turn)
      ON CONFLICT (key) DO UPDATE SET used = s.used + 1, capacity = excluded.capacity, turn = excluded.turn
        WHERE s.used < v_capacity[v_chosen]
      RETURNING s.used INTO v_count;
    IF NOT FOUND THEN
      UPDATE headrace.slot_pools SET used = used - 1 WHERE key = 'pool:' || p_pool;
      v_used[v_chosen] := NULL;
      CONTINUE;
    END IF;
    v_used[v_chosen] := v_count;
    v_order[v_chosen] := v_turn;
    INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at, lease_expires_at)
      VALUES (candidate.id, v_owners[v_chosen], p_pool, 'offered', p_placed_by, true,
              (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
              v_now, v_now + p_claim_ms * interval '1 millisecond')
      RETURNING id INTO execution_id;
    UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
    run_id := candidate.id;
    v_placed := v_placed + 1;
    RETURN NEXT;
  END LOOP;
END $$;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010101, 'Runs1700000010101');

ALTER TABLE headrace.worker_connections ADD COLUMN account_uid text,
  ADD COLUMN known_slots int CONSTRAINT ck_worker_connections__known_slots CHECK (known_slots >= 0);
DROP FUNCTION headrace.usable_workers(text, text);
CREATE FUNCTION headrace.usable_workers(p_team text, p_host text)
RETURNS TABLE (connection_id uuid, instance uuid, free_slots int, slots int, known_slots int, is_paused boolean)
LANGUAGE sql STABLE AS $$
  SELECT id, w.instance, w.free_slots, w.slots, w.known_slots, coalesce(w.rejected_until > headrace.now(), false)
    FROM headrace.worker_connections w
   WHERE team_uid = p_team AND worker_host = p_host AND alive_until > headrace.now() AND NOT draining
$$;
CREATE TABLE headrace.worker_reachability (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  since timestamptz NOT NULL,
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE FUNCTION headrace.workers_reachable_since() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT since FROM headrace.worker_reachability WHERE alive_until > headrace.now()
$$;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010201, 'Workers1700000010201');

ALTER TABLE headrace.executions ADD COLUMN worker_left_at timestamptz;
CREATE INDEX ix_executions__worker_lost ON headrace.executions (pool, slot_key, ended_at)
  WHERE offer_sent_at IS NOT NULL AND end_reason IN ('claim_expired', 'lease_expired', 'fenced');

CREATE OR REPLACE FUNCTION headrace.place_worker_runs(p_teams text[], p_hosts text[], p_max int, p_claim_ms int, p_placed_by text)
RETURNS TABLE (execution_id bigint, run_id uuid, connection_id uuid, team text, host text) LANGUAGE plpgsql AS $$
DECLARE
  place record; candidate record; v_pool text; v_slot_key text; v_now timestamptz;
  v_connections uuid[]; v_live int[]; v_capacity int[]; v_says_full boolean[]; v_is_full boolean; v_chosen int;
BEGIN
  FOR place IN SELECT DISTINCT a.team AS uid, a.host AS name FROM unnest(p_teams, p_hosts) AS a (team, host) ORDER BY 1, 2 LOOP
    v_pool := 'worker:' || place.name;
    v_slot_key := 'team:' || place.uid;
    CONTINUE WHEN NOT EXISTS (
      SELECT 1 FROM headrace.runs r WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key);
    PERFORM pg_advisory_xact_lock(hashtextextended(v_pool || ' ' || v_slot_key, 0));
    team := place.uid; host := place.name; v_now := headrace.now();
    SELECT array_agg(w.connection_id), array_agg(l.live), array_agg(least(w.slots, CASE
    WHEN w.known_slots IS NULL THEN CASE WHEN w.slots IS NULL THEN l.answered + 4 END
    WHEN w.is_paused THEN w.known_slots
    ELSE greatest(w.known_slots, l.answered + 1) END)),
        array_agg(coalesce(w.free_slots = 0, false)), bool_and(w.slots IS NOT NULL OR w.known_slots IS NOT NULL)
      INTO v_connections, v_live, v_capacity, v_says_full, v_is_full
      FROM headrace.usable_workers(place.uid, place.name) w
      CROSS JOIN LATERAL (SELECT count(*)::int AS live, (count(*) FILTER (WHERE e.phase <> 'offered'))::int AS answered
                            FROM headrace.executions e
                           WHERE e.worker_connection_id = w.connection_id AND e.ended_at IS NULL) l;
    CONTINUE WHEN v_connections IS NULL;
    FOR candidate IN
      SELECT r.id, r.config->>'idle_timeout_minutes' AS idle_minutes, failed.worker_connection_id AS failed_on FROM headrace.runs r
        LEFT JOIN LATERAL (SELECT e.worker_connection_id, e.end_reason FROM headrace.executions e
                            WHERE e.run_id = r.id ORDER BY e.id DESC LIMIT 1) failed
          ON failed.end_reason IN ('claim_expired', 'lease_expired', 'infrastructure_timeout')
       WHERE r.state = 'QUEUED' AND r.pool = v_pool AND r.slot_key = v_slot_key
         AND NOT EXISTS (SELECT 1 FROM headrace.executions e WHERE e.run_id = r.id AND e.ended_at IS NULL)
       ORDER BY r.queued_at, r.id LIMIT p_max
    LOOP
      SELECT w.place INTO v_chosen
        FROM unnest(v_connections, v_live, v_capacity, v_says_full) WITH ORDINALITY AS w (id, live, capacity, says_full, place)
       WHERE w.capacity IS NULL OR w.live < w.capacity
       ORDER BY w.says_full, w.id IS NOT DISTINCT FROM candidate.failed_on, w.live, random() LIMIT 1;
      IF NOT FOUND THEN
        EXIT WHEN NOT v_is_full;
        execution_id := NULL; run_id := NULL; connection_id := NULL;
        RETURN NEXT;
        EXIT;
      END IF;
      PERFORM 1 FROM headrace.runs r WHERE r.id = candidate.id AND r.state = 'QUEUED' FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      INSERT INTO headrace.executions (run_id, slot_key, pool, phase, placed_by, slot_held, idle_timeout_ms, offered_at,
          lease_expires_at, worker_connection_id)
        VALUES (candidate.id, v_slot_key, v_pool, 'offered', p_placed_by, false,
                (coalesce(candidate.idle_minutes::numeric, 10) * 60000)::int,
                v_now, v_now + p_claim_ms * interval '1 millisecond', v_connections[v_chosen])
        RETURNING id INTO execution_id;
      UPDATE headrace.runs r SET state = 'PENDING', offers = r.offers + 1, updated_at = v_now WHERE r.id = candidate.id;
      v_live[v_chosen] := v_live[v_chosen] + 1;
      run_id := candidate.id; connection_id := v_connections[v_chosen];
      RETURN NEXT;
    END LOOP;
  END LOOP;
END $$;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010202, 'Runs1700000010202');

ALTER TABLE headrace.service_accounts ADD COLUMN is_agent_identity boolean NOT NULL DEFAULT false;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010203, 'Identity1700000010203');

UPDATE headrace.service_accounts s SET is_agent_identity = true FROM headrace.agent_identities i WHERE i.uid = s.uid;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010204, 'Agents1700000010204');

ALTER TABLE headrace.users ADD COLUMN disabled_at timestamptz;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010401, 'Identity1700000010401');

ALTER TABLE headrace.managed_secrets ADD COLUMN purpose text NOT NULL DEFAULT 'run'
  CONSTRAINT ck_managed_secrets__purpose CHECK (purpose IN ('run', 'webhook'));
UPDATE headrace.managed_secrets s SET purpose = 'webhook'
 WHERE s.name LIKE 'webhook-%' OR EXISTS (
   SELECT FROM headrace.webhooks w WHERE w.team_uid = s.team_uid AND w.secret_name = s.name AND w.deleted_at IS NULL);
ALTER TABLE headrace.managed_secrets
  ADD CONSTRAINT ck_managed_secrets__webhook_names CHECK (name NOT LIKE 'webhook-%' OR purpose = 'webhook');

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010402, 'SecretPurposes1700000010402');

ALTER TABLE headrace.agent_identities ADD COLUMN secrets text[] NOT NULL DEFAULT '{}';

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010403, 'IdentitySecrets1700000010403');

CREATE OR REPLACE FUNCTION headrace.take_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off AS $take$
DECLARE
  at timestamptz := headrace.now();
  item record;
  hook record;
  key_at int := 1;
  body_at int := 1;
  item_keys bytea[];
  found_key bytea;
  inserted int;
  item_body bytea;
BEGIN
  FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS i (webhook_id bigint, version int, outcome "char", id uuid,
    identity_kind text, identity text, size int, source_ip text, headers jsonb, trace_id text, signed bool)
  LOOP
    delivery_id := NULL;
    retry_ms := NULL;
    item_body := NULL;
    IF item.outcome = 'A' THEN
      item_keys := ARRAY[substr(p_keys, key_at, 32)];
      item_body := substr(p_bodies, body_at, item.size);
      key_at := key_at + 32;
      IF item.signed THEN
        item_keys := item_keys || substr(p_keys, key_at, 32);
        key_at := key_at + 32;
      END IF;
      body_at := body_at + item.size;
    END IF;
    SELECT w.version, w.enabled, w.deleted_at INTO hook FROM headrace.webhooks AS w WHERE w.id = item.webhook_id;
    IF hook.version IS DISTINCT FROM item.version OR NOT hook.enabled OR hook.deleted_at IS NOT NULL THEN
      verdict := 'stale';
      RETURN NEXT;
      CONTINUE;
    END IF;
    UPDATE headrace.webhook_rates AS r SET stamps[r.head % p_limit + 1] = at, head = (r.head + 1) % p_limit
     WHERE r.webhook_id = item.webhook_id
       AND (r.stamps[r.head % p_limit + 1] IS NULL OR r.stamps[r.head % p_limit + 1] <= at - p_window);
    IF NOT FOUND THEN
      SELECT 'limited', greatest(1, ceil(extract(epoch FROM r.stamps[r.head % p_limit + 1] + p_window - at) * 1000))::int
        INTO verdict, retry_ms FROM headrace.webhook_rates AS r WHERE r.webhook_id = item.webhook_id;
      RETURN NEXT;
      CONTINUE;
    END IF;
    verdict := 'counted';
    IF item.outcome = 'J' THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    WHILE item.outcome = 'A' LOOP
      INSERT INTO headrace.webhook_identities SELECT item.webhook_id, k, item.id, at FROM unnest(item_keys) AS k
        ON CONFLICT DO NOTHING;
      GET DIAGNOSTICS inserted = ROW_COUNT;
      IF inserted = cardinality(item_keys) THEN
        verdict := 'accepted';
        delivery_id := item.id;
        EXIT;
      END IF;
      SELECT i.delivery_id, i.key INTO delivery_id, found_key FROM headrace.webhook_identities AS i
       WHERE i.webhook_id = item.webhook_id AND i.key = ANY (item_keys) AND i.delivery_id <> item.id
       ORDER BY i.key = item_keys[2] DESC LIMIT 1;
      IF NOT FOUND THEN
        DELETE FROM headrace.webhook_identities AS i
         WHERE i.webhook_id = item.webhook_id AND i.key = ANY (item_keys) AND i.delivery_id = item.id;
        CONTINUE;
      END IF;
      verdict := 'duplicate';
      IF inserted > 0 AND found_key = item_keys[1] THEN
        UPDATE headrace.webhook_identities AS i SET delivery_id = take_deliveries.delivery_id
         WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[2];
      ELSIF inserted > 0 THEN
        DELETE FROM headrace.webhook_identities AS i WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[1];
      END IF;
      EXIT;
    END LOOP;
    INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
      received_at, source_ip, headers, trace_id, body)
    VALUES (item.webhook_id, item.id, CASE verdict WHEN 'duplicate' THEN 'D'::"char" ELSE item.outcome END,
      item.identity_kind, item.identity, CASE verdict WHEN 'duplicate' THEN take_deliveries.delivery_id END, item.size, at,
      item.source_ip, item.headers, item.trace_id, CASE verdict WHEN 'accepted' THEN item_body END);
    RETURN NEXT;
  END LOOP;
END $take$;

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010501, 'WebhookSignatures1700000010501');

ALTER TABLE headrace.executions ADD COLUMN output_bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE headrace.artifacts ADD COLUMN size_bytes bigint NOT NULL DEFAULT 0;
UPDATE headrace.artifacts SET size_bytes = (data->>'size_bytes')::bigint WHERE data ? 'size_bytes';

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010502, 'Runs1700000010502');

ALTER TABLE headrace.artifacts
  DROP CONSTRAINT ck_artifacts__locator,
  ADD CONSTRAINT ck_artifacts__locator CHECK (locator IS NULL OR artifact_type IN ('PULL_REQUEST','EXTERNAL_REFERENCE')),
  ADD CONSTRAINT ck_artifacts__reference CHECK (artifact_type <> 'EXTERNAL_REFERENCE' OR locator IS NOT NULL);
UPDATE headrace.artifacts SET locator = rtrim(data->>'url', '/') WHERE artifact_type = 'PULL_REQUEST';

INSERT INTO "headrace"."schema_migrations"("timestamp", "name") VALUES (1700000010701, 'Runs1700000010701');
