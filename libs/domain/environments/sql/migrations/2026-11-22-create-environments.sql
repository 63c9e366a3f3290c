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

-- Sharing of environments: grants to users and teams, and links with the users who redeemed them. All of it is deleted
-- with the environment, and the access by a link is deleted with the link.

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
  -- SHA-256 of the token in the link.
  token_hash bytea NOT NULL CONSTRAINT uq_environment_links__token_hash UNIQUE
    CONSTRAINT ck_environment_links__token_hash CHECK (octet_length(token_hash) = 32),
  expires_at timestamptz,
  max_uses int CONSTRAINT ck_environment_links__max_uses CHECK (max_uses > 0),
  uses int NOT NULL DEFAULT 0,
  creator_type text NOT NULL,
  creator_uid text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  CONSTRAINT ck_environment_links__uses CHECK (uses >= 0 AND (max_uses IS NULL OR uses <= max_uses)),
  -- The key that holders refer to.
  CONSTRAINT uq_environment_links__environment UNIQUE (environment_uid, uid)
);

CREATE TABLE headrace.environment_link_holders (
  link_uid text NOT NULL,
  -- Repeats the environment of the link, so that lists need no join.
  environment_uid text NOT NULL,
  user_uid text NOT NULL REFERENCES headrace.users (uid) ON DELETE CASCADE,
  redeemed_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (link_uid, user_uid),
  CONSTRAINT fk_environment_link_holders__link FOREIGN KEY (environment_uid, link_uid)
    REFERENCES headrace.environment_links (environment_uid, uid) ON DELETE CASCADE
);
CREATE INDEX ix_environment_link_holders__link ON headrace.environment_link_holders (environment_uid, link_uid);
CREATE INDEX ix_environment_link_holders__user ON headrace.environment_link_holders (user_uid, environment_uid);
