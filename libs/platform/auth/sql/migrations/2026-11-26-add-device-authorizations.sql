-- Programs that wait for a user to approve them (RFC 8628).
CREATE TABLE headrace.device_authorizations (
  uid text PRIMARY KEY CONSTRAINT ck_device_authorizations__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  -- SHA-256 of the code of the program, which is random enough for a digest.
  device_code_hash bytea NOT NULL CONSTRAINT ux_device_authorizations__device_code UNIQUE,
  -- HMAC of the code that the user types: it is short, so that a digest without a key could be reverted.
  user_code_hash bytea NOT NULL CONSTRAINT ux_device_authorizations__user_code UNIQUE,
  client_id text NOT NULL,
  client_name text NOT NULL,
  address text NOT NULL,
  user_agent text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  poll_interval_seconds int NOT NULL CONSTRAINT ck_device_authorizations__interval CHECK (poll_interval_seconds > 0),
  last_polled_at timestamptz,
  state text NOT NULL DEFAULT 'pending'
    CONSTRAINT ck_device_authorizations__state CHECK (state IN ('pending', 'approved', 'denied', 'redeemed')),
  -- Who has decided, and until when the token of the program is valid.
  user_uid text REFERENCES headrace.users (uid),
  token_expires_at timestamptz,
  CONSTRAINT ck_device_authorizations__decided CHECK ((state = 'pending') = (user_uid IS NULL))
);
CREATE INDEX ix_device_authorizations__expires_at ON headrace.device_authorizations (expires_at);
CREATE INDEX ix_device_authorizations__user ON headrace.device_authorizations (user_uid) WHERE user_uid IS NOT NULL;
