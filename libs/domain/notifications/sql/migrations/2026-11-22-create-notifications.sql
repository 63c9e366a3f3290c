-- Notification webhooks of a team, and the deliveries to them.

CREATE TABLE headrace.notification_webhooks (
  uid text PRIMARY KEY CONSTRAINT ck_notification_webhooks__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  name text NOT NULL CONSTRAINT ck_notification_webhooks__name CHECK (btrim(name) <> ''),
  url text NOT NULL,
  events text[] NOT NULL CONSTRAINT ck_notification_webhooks__events CHECK (cardinality(events) > 0),
  enabled boolean NOT NULL,
  disabled_reason text,
  -- Both secrets are encrypted.
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

-- The outbox, the retry queue and the log in one. A pending row is due at next_attempt_at; a process that leases the row
-- moves that time into the future.
CREATE TABLE headrace.notification_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id text NOT NULL DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  webhook_uid text NOT NULL REFERENCES headrace.notification_webhooks (uid) ON DELETE CASCADE,
  run_id uuid REFERENCES headrace.runs (id) ON DELETE CASCADE,
  type text NOT NULL,
  data jsonb NOT NULL,
  status text NOT NULL DEFAULT 'pending'
    CONSTRAINT ck_notification_deliveries__status CHECK (status IN ('pending', 'delivered', 'failed', 'dropped')),
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
