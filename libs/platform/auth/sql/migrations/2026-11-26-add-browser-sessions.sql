-- Sessions of browsers and one-time links to sign in are tokens of another kind, so that one lookup, one expiry and one
-- revocation serve all of them.
ALTER TABLE headrace.tokens ADD COLUMN kind text NOT NULL DEFAULT 'api'
  CONSTRAINT ck_tokens__kind CHECK (kind IN ('api', 'session', 'login_link'));
-- Of a session: how the user signed in, and from where.
ALTER TABLE headrace.tokens ADD COLUMN method text, ADD COLUMN address text, ADD COLUMN user_agent text;
-- The token or link with which a session was created. A session ends with that token.
ALTER TABLE headrace.tokens ADD COLUMN created_with text;
CREATE INDEX ix_tokens__created_with ON headrace.tokens (created_with) WHERE created_with IS NOT NULL;
ALTER TABLE headrace.tokens ADD CONSTRAINT ck_tokens__short_lived
  CHECK (kind = 'api' OR (expires_at IS NOT NULL AND user_uid IS NOT NULL));
CREATE INDEX ix_tokens__short_lived ON headrace.tokens (expires_at) WHERE kind <> 'api';
