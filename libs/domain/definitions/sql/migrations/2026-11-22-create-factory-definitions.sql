-- What was applied to factories: the files, and the resources that they describe.

CREATE TABLE headrace.factory_definitions (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  -- The defaults of the factory's agents, as in factory.yaml.
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

-- The agent identity of each agent of the files. An identity that was deleted is created again by the next apply.
CREATE TABLE headrace.factory_agents (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  identity_uid text NOT NULL CONSTRAINT ux_factory_agents__identity UNIQUE,
  PRIMARY KEY (factory_uid, name)
);

-- The fingerprint of each resource when it was applied. A resource with another fingerprint was changed by other means
-- than the files.
CREATE TABLE headrace.factory_resources (
  factory_uid text NOT NULL REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  kind text COLLATE "C" NOT NULL CONSTRAINT ck_factory_resources__kind CHECK (kind IN ('factory', 'webhook', 'automation', 'agent')),
  name text COLLATE "C" NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (factory_uid, kind, name)
);
