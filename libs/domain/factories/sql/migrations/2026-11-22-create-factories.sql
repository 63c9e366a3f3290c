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
