-- What functions/take_deliveries.sql decides by. Rows of these tables name their webhook without a foreign key: its check
-- would lock the row of the webhook with every delivery.

-- Times of the latest deliveries of a webhook, as a ring buffer: head is the index of the oldest one, from 0.
CREATE TABLE headrace.webhook_rates (
  webhook_id bigint PRIMARY KEY,
  head int NOT NULL DEFAULT 0,
  stamps timestamptz[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

-- Identities of accepted deliveries. A key is the SHA-256 of the kind and the value of an identity, or of what a signature
-- covers. Rows outlive the delivery log.
CREATE TABLE headrace.webhook_identities (
  webhook_id bigint NOT NULL,
  key bytea NOT NULL,
  delivery_id uuid NOT NULL,
  accepted_at timestamptz NOT NULL,
  PRIMARY KEY (webhook_id, key)
);
CREATE INDEX ix_webhook_identities__accepted ON headrace.webhook_identities USING brin (accepted_at);
