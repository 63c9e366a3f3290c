-- Users of OpenID providers. A user has one subject of an issuer.
CREATE TABLE headrace.openid_identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_uid text NOT NULL REFERENCES headrace.users (uid),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (issuer, subject),
  CONSTRAINT ux_openid_identities__user UNIQUE (user_uid, issuer)
);
-- Sign-ins for which a browser was sent to the provider. Each is completed once.
CREATE TABLE headrace.openid_sign_ins (
  -- SHA-256 of the cookie, from which state, nonce and code verifier are derived.
  hash bytea PRIMARY KEY CONSTRAINT ck_openid_sign_ins__hash CHECK (octet_length(hash) = 32),
  return_to text NOT NULL,
  -- The session of the browser before, whose cookie is not sent when the browser returns from another site.
  earlier_session_uid text,
  expires_at timestamptz NOT NULL
);
CREATE INDEX ix_openid_sign_ins__expires_at ON headrace.openid_sign_ins (expires_at);
-- Whether the role comes from groups of the provider, which then change and remove it.
ALTER TABLE headrace.memberships ADD COLUMN from_groups boolean NOT NULL DEFAULT false;
