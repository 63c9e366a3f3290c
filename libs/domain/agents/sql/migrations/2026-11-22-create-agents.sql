-- Agent identities, registered MCP servers, and the harnesses that are installed on the processors.

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
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  -- The factory whose definition created the identity.
  factory_uid text,
  -- Names of the managed secrets that runs of the identity get.
  secrets text[] NOT NULL DEFAULT '{}'
);
-- Two factories of a team may have identities of one name.
CREATE UNIQUE INDEX ux_agent_identities__team_factory_name
  ON headrace.agent_identities (team_uid, coalesce(factory_uid, ''), lower(name));

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

-- One row for each processor.
CREATE TABLE headrace.harness_installations (
  instance uuid CONSTRAINT pk_harness_installations PRIMARY KEY,
  harnesses jsonb NOT NULL,
  last_seen_at timestamptz NOT NULL,
  CONSTRAINT ck_harness_installations__list CHECK (jsonb_typeof(harnesses) = 'array')
);
