-- Teams, users, service accounts and their tokens.

CREATE TABLE headrace.teams (
  uid text PRIMARY KEY CONSTRAINT ck_teams__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  name text NOT NULL CONSTRAINT ck_teams__name CHECK (btrim(name) <> ''),
  -- Null: the limit of the installation applies.
  max_concurrent_runs int CONSTRAINT ck_teams__max_concurrent_runs CHECK (max_concurrent_runs > 0),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  -- Settings of the team's runs.
  default_model_id text CONSTRAINT ck_teams__default_model_id CHECK (btrim(default_model_id) <> ''),
  default_worker_host text CONSTRAINT ck_teams__default_worker_host CHECK (btrim(default_worker_host) <> ''),
  metadata_filter boolean NOT NULL DEFAULT true,
  schedules boolean NOT NULL DEFAULT true
);

CREATE TABLE headrace.users (
  uid text PRIMARY KEY CONSTRAINT ck_users__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  email text NOT NULL CONSTRAINT ck_users__email CHECK (position('@' in email) > 1),
  display_name text NOT NULL,
  photo_url text,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  -- Disabled users keep their row, so that history keeps their names.
  disabled_at timestamptz
);
CREATE UNIQUE INDEX ux_users__email ON headrace.users (lower(email));

CREATE TABLE headrace.service_accounts (
  uid text PRIMARY KEY CONSTRAINT ck_service_accounts__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  disabled_at timestamptz,
  -- The account that an agent acts as; it has fewer permissions than an operator's account.
  is_agent_identity boolean NOT NULL DEFAULT false
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
  -- SHA-256 of the token. The token itself is not stored.
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
