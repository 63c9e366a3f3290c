import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Webhooks, their delivery log, identities and rates.
 *
 * Rows of the hot tables name their webhook without a foreign key: its check would lock the webhook's row with every
 * delivery. A webhook's row is never deleted before its log is.
 */
export class Webhooks1700000005001 implements MigrationInterface {
  name = 'Webhooks1700000005001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
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
  -- Was to be enabled and lacks the secret, which enables it.
  enables_with_secret boolean NOT NULL DEFAULT false,
  source text NOT NULL CONSTRAINT ck_webhooks__source CHECK (source IN ('api', 'definition')),
  secret_name text NOT NULL,
  -- Made for this webhook alone: goes when it goes.
  secret_owned boolean NOT NULL,
  -- Version of the managed secret that the sealed copy is of.
  secret_version int,
  sealed_secret text,
  secret_pending boolean NOT NULL DEFAULT false,
  -- What a handshake brought, until somebody confirms it.
  sealed_captured_secret text,
  -- Moves with everything that authentication and acceptance depend on.
  version int NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  updated_at timestamptz NOT NULL DEFAULT headrace.now(),
  deleted_at timestamptz,
  CONSTRAINT ck_webhooks__enabled_has_secret CHECK (NOT enabled OR sealed_secret IS NOT NULL OR secret_pending),
  CONSTRAINT ck_webhooks__enables_with_secret CHECK (NOT enables_with_secret OR NOT enabled AND sealed_secret IS NULL AND NOT secret_pending),
  CONSTRAINT ck_webhooks__secret_has_version CHECK ((sealed_secret IS NULL) = (secret_version IS NULL))
);
CREATE INDEX ix_webhooks__factory ON headrace.webhooks (factory_uid, id) WHERE deleted_at IS NULL;
CREATE INDEX ix_webhooks__secret ON headrace.webhooks (team_uid, secret_name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX ux_webhooks__definition_name ON headrace.webhooks (factory_uid, name) WHERE source = 'definition' AND deleted_at IS NULL;
CREATE INDEX ix_webhooks__deleted ON headrace.webhooks (id) WHERE deleted_at IS NOT NULL;

-- How many webhooks a factory has; the limit is a guarded update of its row.
CREATE TABLE headrace.webhook_counts (
  factory_uid text PRIMARY KEY REFERENCES headrace.factories (uid),
  webhooks int NOT NULL CONSTRAINT ck_webhook_counts__webhooks CHECK (webhooks >= 0)
);

-- Times of the latest deliveries of a webhook, as a ring: head is the place of the oldest, from 0.
CREATE TABLE headrace.webhook_rates (
  webhook_id bigint PRIMARY KEY,
  head int NOT NULL DEFAULT 0,
  stamps timestamptz[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

CREATE TABLE headrace.webhook_deliveries (
  webhook_id bigint NOT NULL,
  id uuid NOT NULL,
  -- A Accepted, D Duplicate, U Rejected (auth), J Rejected (invalid JSON), L Rejected (too large), H handshake.
  outcome "char" NOT NULL CONSTRAINT ck_webhook_deliveries__outcome CHECK (outcome IN ('A', 'D', 'U', 'J', 'L', 'H')),
  identity_kind text,
  identity text,
  -- Of a Duplicate: the accepted delivery of the same identity.
  duplicate_of uuid,
  -- Of a redelivery: the delivery that it repeats.
  redelivery_of uuid,
  -- Above 1 in a row that stands for many rejections.
  occurrences int NOT NULL DEFAULT 1,
  size_bytes int NOT NULL,
  received_at timestamptz NOT NULL,
  source_ip text NOT NULL,
  headers jsonb,
  trace_id text,
  body bytea,
  evaluated_at timestamptz,
  results jsonb,
  -- Of an accepted one that is not evaluated yet: when to try, after how many tries that failed.
  evaluate_at timestamptz NOT NULL DEFAULT headrace.now(),
  evaluation_attempts smallint NOT NULL DEFAULT 0,
  -- Why it was given up.
  evaluation_error text,
  PRIMARY KEY (webhook_id, id),
  CONSTRAINT ck_webhook_deliveries__only_accepted_keep_payload CHECK ((outcome = 'A') = (body IS NOT NULL)),
  CONSTRAINT ck_webhook_deliveries__only_accepted_are_evaluated CHECK (evaluated_at IS NULL OR outcome = 'A' AND results IS NOT NULL)
);
-- JSON that compresses well costs more to compress than to store.
ALTER TABLE headrace.webhook_deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
-- By webhook, so that each gets its turn however many another has waiting.
CREATE INDEX ix_webhook_deliveries__unevaluated ON headrace.webhook_deliveries (webhook_id, id, evaluate_at)
  WHERE outcome = 'A' AND evaluated_at IS NULL;
-- Written when a delivery is evaluated, not when it is taken.
CREATE INDEX ix_webhook_deliveries__evaluated ON headrace.webhook_deliveries (webhook_id, id)
  WHERE outcome = 'A' AND evaluated_at IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__redelivery ON headrace.webhook_deliveries (webhook_id, id) WHERE redelivery_of IS NOT NULL;
CREATE INDEX ix_webhook_deliveries__other ON headrace.webhook_deliveries (webhook_id, outcome, id) WHERE outcome <> 'A';

-- What was accepted, by SHA-256 of kind and value; outlives the log.
CREATE TABLE headrace.webhook_identities (
  webhook_id bigint NOT NULL,
  key bytea NOT NULL,
  delivery_id uuid NOT NULL,
  accepted_at timestamptz NOT NULL,
  PRIMARY KEY (webhook_id, key)
);
CREATE INDEX ix_webhook_identities__accepted ON headrace.webhook_identities USING brin (accepted_at);

-- The last checks of deliveries and all that they write, in the caller's transaction, in the given order: callers sort by
-- webhook, so that they never wait for each other's rates in a circle. p_items: an array of objects with webhook_id,
-- version (of the webhook as the caller knows it), outcome (A to accept, H to count and log, J only to count), id,
-- identity_kind, identity, size, source_ip, headers, trace_id. p_keys: of the items that are to be accepted, 32 bytes each
-- of identity key; p_bodies: their bodies. verdict: stale (the webhook is not what the caller knows), limited (retry_ms is
-- when it is worth another try), accepted, duplicate, counted. One row an item.
CREATE FUNCTION headrace.take_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE plpgsql VOLATILE
-- Its plans are kept: one that was made while there were ten webhooks would read all of a thousand. Webhooks are found by
-- id alone, and judged here, for the same reason: no partial index can then seem to be the shorter way.
SET enable_seqscan = off AS $take$
DECLARE
  at timestamptz := headrace.now();
  item record;
  hook record;
  key_at int := 1;
  body_at int := 1;
  item_key bytea;
  item_body bytea;
BEGIN
  FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS i (webhook_id bigint, version int, outcome "char", id uuid,
    identity_kind text, identity text, size int, source_ip text, headers jsonb, trace_id text)
  LOOP
    delivery_id := NULL;
    retry_ms := NULL;
    item_body := NULL;
    IF item.outcome = 'A' THEN
      item_key := substr(p_keys, key_at, 32);
      item_body := substr(p_bodies, body_at, item.size);
      key_at := key_at + 32;
      body_at := body_at + item.size;
    END IF;
    SELECT w.version, w.enabled, w.deleted_at INTO hook FROM headrace.webhooks AS w WHERE w.id = item.webhook_id;
    IF hook.version IS DISTINCT FROM item.version OR NOT hook.enabled OR hook.deleted_at IS NOT NULL THEN
      verdict := 'stale';
      RETURN NEXT;
      CONTINUE;
    END IF;
    UPDATE headrace.webhook_rates AS r SET stamps[r.head % p_limit + 1] = at, head = (r.head + 1) % p_limit
     WHERE r.webhook_id = item.webhook_id
       AND (r.stamps[r.head % p_limit + 1] IS NULL OR r.stamps[r.head % p_limit + 1] <= at - p_window);
    IF NOT FOUND THEN
      SELECT 'limited', greatest(1, ceil(extract(epoch FROM r.stamps[r.head % p_limit + 1] + p_window - at) * 1000))::int
        INTO verdict, retry_ms FROM headrace.webhook_rates AS r WHERE r.webhook_id = item.webhook_id;
      RETURN NEXT;
      CONTINUE;
    END IF;
    verdict := 'counted';
    IF item.outcome = 'J' THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    -- Once more in the rare case that the accepted one is pruned between the two looks.
    WHILE item.outcome = 'A' LOOP
      INSERT INTO headrace.webhook_identities VALUES (item.webhook_id, item_key, item.id, at) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        verdict := 'accepted';
        delivery_id := item.id;
        EXIT;
      END IF;
      SELECT i.delivery_id INTO delivery_id FROM headrace.webhook_identities AS i
       WHERE i.webhook_id = item.webhook_id AND i.key = item_key;
      IF FOUND THEN
        verdict := 'duplicate';
        EXIT;
      END IF;
    END LOOP;
    INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
      received_at, source_ip, headers, trace_id, body)
    VALUES (item.webhook_id, item.id, CASE verdict WHEN 'duplicate' THEN 'D'::"char" ELSE item.outcome END,
      item.identity_kind, item.identity, CASE verdict WHEN 'duplicate' THEN take_deliveries.delivery_id END, item.size, at,
      item.source_ip, item.headers, item.trace_id, CASE verdict WHEN 'accepted' THEN item_body END);
    RETURN NEXT;
  END LOOP;
END $take$;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
DROP FUNCTION headrace.take_deliveries;
DROP TABLE headrace.webhook_identities, headrace.webhook_deliveries, headrace.webhook_rates, headrace.webhook_counts, headrace.webhooks;`);
  }
}
