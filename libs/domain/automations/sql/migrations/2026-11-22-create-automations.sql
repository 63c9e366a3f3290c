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
-- A definition names its automations by their paths.
CREATE UNIQUE INDEX ux_automations__definition ON headrace.automations (factory_uid, name) WHERE source = 'definition';

-- The rows that are searched for each event. Prompts and configurations are kept out of them to keep them small.
CREATE TABLE headrace.automation_triggers (
  automation_id bigint NOT NULL REFERENCES headrace.automations (id) ON DELETE CASCADE,
  position int NOT NULL CONSTRAINT ck_automation_triggers__position CHECK (position >= 0),
  factory_uid text NOT NULL,
  provider text NOT NULL,
  event text NOT NULL,
  subject text NOT NULL,
  -- The whole trigger as it is on the wire.
  trigger jsonb NOT NULL,
  PRIMARY KEY (automation_id, position)
);
CREATE INDEX ix_automation_triggers__subject
  ON headrace.automation_triggers (factory_uid, provider, event, subject, automation_id, position);

-- A transaction that creates or deletes automations of a factory locks this row first, so the limit holds under
-- concurrency.
CREATE TABLE headrace.automation_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  used int NOT NULL CONSTRAINT ck_automation_counts__used CHECK (used >= 0)
);

-- The stamp of a factory increases with every change of its automations, in the same transaction: a process that has
-- cached them all compares stamps to learn whether its copy is current. functions/move_automation_stamps.sql writes it.
CREATE TABLE headrace.automation_stamps (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid) ON DELETE CASCADE,
  stamp bigint NOT NULL
);
