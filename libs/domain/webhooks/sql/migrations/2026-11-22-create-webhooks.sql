-- Webhooks and their delivery log.

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
  -- The webhook is to be enabled and lacks its secret; the secret enables it.
  enables_with_secret boolean NOT NULL DEFAULT false,
  source text NOT NULL CONSTRAINT ck_webhooks__source CHECK (source IN ('api', 'definition')),
  secret_name text NOT NULL,
  -- The secret was created for this webhook alone and is deleted with it.
  secret_owned boolean NOT NULL,
  -- The version of the managed secret that sealed_secret is a copy of.
  secret_version int,
  sealed_secret text,
  secret_pending boolean NOT NULL DEFAULT false,
  -- The secret that a handshake brought, until a user confirms it.
  sealed_captured_secret text,
  -- Increases with every change that authentication or acceptance depends on.
  version int NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  -- The row is deleted after its log.
  deleted_at timestamptz,
  CONSTRAINT ck_webhooks__enabled_has_secret CHECK (NOT enabled OR sealed_secret IS NOT NULL OR secret_pending),
  CONSTRAINT ck_webhooks__enables_with_secret
    CHECK (NOT enables_with_secret OR NOT enabled AND sealed_secret IS NULL AND NOT secret_pending),
  CONSTRAINT ck_webhooks__secret_has_version CHECK ((sealed_secret IS NULL) = (secret_version IS NULL))
);
CREATE INDEX ix_webhooks__factory ON headrace.webhooks (factory_uid, id) WHERE deleted_at IS NULL;
CREATE INDEX ix_webhooks__secret ON headrace.webhooks (team_uid, secret_name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX ux_webhooks__definition_name ON headrace.webhooks (factory_uid, name)
  WHERE source = 'definition' AND deleted_at IS NULL;
CREATE INDEX ix_webhooks__deleted ON headrace.webhooks (id) WHERE deleted_at IS NOT NULL;

-- The number of webhooks of a factory. The limit is a guarded update of this row.
CREATE TABLE headrace.webhook_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid),
  webhooks int NOT NULL CONSTRAINT ck_webhook_counts__webhooks CHECK (webhooks >= 0)
);

-- Deliveries name their webhook without a foreign key: its check would lock the row of the webhook with every delivery.
CREATE TABLE headrace.webhook_deliveries (
  webhook_id bigint NOT NULL,
  id uuid NOT NULL,
  -- A Accepted, D Duplicate, U Rejected (auth), J Rejected (invalid JSON), L Rejected (too large), H handshake.
  outcome "char" NOT NULL CONSTRAINT ck_webhook_deliveries__outcome CHECK (outcome IN ('A', 'D', 'U', 'J', 'L', 'H')),
  identity_kind text,
  identity text,
  -- Of a duplicate: the accepted delivery with the same identity.
  duplicate_of uuid,
  -- Of a redelivery: the delivery that it repeats.
  redelivery_of uuid,
  -- Above 1 in a row that represents several rejections.
  occurrences int NOT NULL DEFAULT 1,
  size_bytes int NOT NULL,
  received_at timestamptz NOT NULL,
  source_ip text NOT NULL,
  headers jsonb,
  trace_id text,
  body bytea,
  evaluated_at timestamptz,
  results jsonb,
  -- Of an accepted delivery that is not evaluated yet: when it is due, and how many attempts have failed.
  evaluate_at timestamptz NOT NULL DEFAULT headrace.now(),
  evaluation_attempts smallint NOT NULL DEFAULT 0,
  -- Why the evaluation was abandoned.
  evaluation_error text,
  -- Attempts of which no end was recorded: increased when an attempt starts, decreased when its end is recorded. This
  -- counts the attempts of processes that were killed.
  evaluation_losses smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook_id, id),
  CONSTRAINT ck_webhook_deliveries__only_accepted_keep_payload CHECK ((outcome = 'A') = (body IS NOT NULL)),
  CONSTRAINT ck_webhook_deliveries__only_accepted_are_evaluated
    CHECK (evaluated_at IS NULL OR outcome = 'A' AND results IS NOT NULL)
);
-- JSON that compresses well costs more to compress than to store.
ALTER TABLE headrace.webhook_deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
-- Ordered by webhook, so that each webhook gets its turn however many deliveries of another one are waiting.
CREATE INDEX ix_webhook_deliveries__unevaluated ON headrace.webhook_deliveries (webhook_id, id, evaluate_at)
  WHERE outcome = 'A' AND evaluated_at IS NULL;
-- Written when a delivery is evaluated, not when it is accepted.
CREATE INDEX ix_webhook_deliveries__evaluated ON headrace.webhook_deliveries (webhook_id, id)
  WHERE outcome = 'A' AND evaluated_at IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__redelivery ON headrace.webhook_deliveries (webhook_id, id)
  WHERE redelivery_of IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__other ON headrace.webhook_deliveries (webhook_id, outcome, id) WHERE outcome <> 'A';
