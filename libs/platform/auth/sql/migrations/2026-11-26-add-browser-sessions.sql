-- Sessions of browsers and one-time links to sign in are tokens of another kind, so that one lookup, one expiry and one
-- revocation serve all of them.
ALTER TABLE headrace.tokens ADD COLUMN kind text NOT NULL DEFAULT 'api'
  CONSTRAINT ck_tokens__kind CHECK (kind IN ('api', 'session', 'login_link'));
-- Of a session: how the user signed in, and from where.
ALTER TABLE headrace.tokens ADD COLUMN method text, ADD COLUMN address text, ADD COLUMN user_agent text;
ALTER TABLE headrace.tokens ADD CONSTRAINT ck_tokens__short_lived
  CHECK (kind = 'api' OR (expires_at IS NOT NULL AND user_uid IS NOT NULL));
CREATE INDEX ix_tokens__short_lived ON headrace.tokens (expires_at) WHERE kind <> 'api';
