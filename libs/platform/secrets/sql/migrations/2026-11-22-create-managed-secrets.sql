-- Managed secrets of teams.

CREATE TABLE headrace.managed_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_managed_secrets__name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  version int NOT NULL DEFAULT 1,
  -- The encrypted value. The id of its key is a part of the text.
  sealed text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  -- A secret of a webhook is never passed to a run: a reader of it can forge deliveries.
  purpose text NOT NULL DEFAULT 'run' CONSTRAINT ck_managed_secrets__purpose CHECK (purpose IN ('run', 'webhook')),
  CONSTRAINT ux_managed_secrets__team_name UNIQUE (team_uid, name),
  CONSTRAINT ck_managed_secrets__webhook_names CHECK (name NOT LIKE 'webhook-%' OR purpose = 'webhook')
);

-- The number of secrets of a team. The limit is a guarded update of this row, which is the last lock that a transaction
-- acquires.
CREATE TABLE headrace.managed_secret_counts (
  team_uid text PRIMARY KEY REFERENCES headrace.teams (uid),
  secrets int NOT NULL CONSTRAINT ck_managed_secret_counts__secrets CHECK (secrets >= 0)
);
