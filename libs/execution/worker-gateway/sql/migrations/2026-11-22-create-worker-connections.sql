-- One row for each connection of a self-hosted worker. The process that holds the socket renews last_seen_at and
-- alive_until of all its connections with one statement; a row that is no longer renewed is not a connection, whether its
-- process ended or not. The fill factor leaves space in each page for these frequent updates, so that the indexes, which
-- contain none of the updated columns, are not written.
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
  -- How many runs the worker accepts at once. Null: the worker reports no number.
  slots int,
  free_slots int CONSTRAINT ck_worker_connections__free_slots CHECK (free_slots >= 0),
  draining boolean NOT NULL DEFAULT false,
  -- Until then no more than known_slots are offered.
  rejected_until timestamptz,
  harnesses jsonb NOT NULL DEFAULT '[]',
  skills jsonb NOT NULL DEFAULT '[]',
  -- The service account that connected.
  account_uid text,
  -- How many runs the connection accepts at once, learnt from its rejections.
  known_slots int CONSTRAINT ck_worker_connections__known_slots CHECK (known_slots >= 0)
) WITH (fillfactor = 70);
CREATE INDEX ix_worker_connections__host ON headrace.worker_connections (team_uid, worker_host);
CREATE INDEX ix_worker_connections__instance ON headrace.worker_connections (instance);

-- One row: since when at least one API process has accepted connections of workers without a gap.
CREATE TABLE headrace.worker_reachability (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  since timestamptz NOT NULL,
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);
