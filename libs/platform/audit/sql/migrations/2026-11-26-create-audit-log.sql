-- Who has changed or used what: one chain of entries for each team, and one for the installation.

CREATE TABLE headrace.audit_log_heads (
  -- The uid of a team, or `installation`.
  chain text PRIMARY KEY,
  seq bigint NOT NULL,
  hash bytea NOT NULL CONSTRAINT ck_audit_log_heads__hash CHECK (octet_length(hash) = 32)
);

CREATE TABLE headrace.audit_log_entries (
  chain text NOT NULL,
  seq bigint NOT NULL CONSTRAINT ck_audit_log_entries__seq CHECK (seq > 0),
  -- JSON as it was hashed; the other columns are copies of its fields.
  entry text NOT NULL,
  -- SHA-256 of the hash of the entry before, or of 32 zero bytes, and `entry` in UTF-8.
  hash bytea NOT NULL CONSTRAINT ck_audit_log_entries__hash CHECK (octet_length(hash) = 32),
  occurred_at text NOT NULL GENERATED ALWAYS AS (entry::jsonb ->> 'occurred_at') STORED,
  action text NOT NULL GENERATED ALWAYS AS (entry::jsonb ->> 'action') STORED,
  actor_uid text GENERATED ALWAYS AS (entry::jsonb #>> '{actor,uid}') STORED,
  target_uid text GENERATED ALWAYS AS (entry::jsonb #>> '{target,uid}') STORED,
  PRIMARY KEY (chain, seq)
);
CREATE INDEX ix_audit_log_entries__action ON headrace.audit_log_entries (chain, action, seq);
CREATE INDEX ix_audit_log_entries__actor ON headrace.audit_log_entries (chain, actor_uid, seq) WHERE actor_uid IS NOT NULL;
CREATE INDEX ix_audit_log_entries__target ON headrace.audit_log_entries (chain, target_uid, seq) WHERE target_uid IS NOT NULL;
CREATE INDEX ix_audit_log_entries__time ON headrace.audit_log_entries (chain, occurred_at);
