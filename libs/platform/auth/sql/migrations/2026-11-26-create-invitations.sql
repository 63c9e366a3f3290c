-- Invitations to teams. Who has the link of one accepts it once.
CREATE TABLE headrace.invitations (
  uid text PRIMARY KEY CONSTRAINT ck_invitations__uid CHECK (uid ~ '^[A-Za-z0-9]{22}$'),
  -- SHA-256 of the code of the link. The code itself is not stored.
  hash bytea NOT NULL CONSTRAINT ux_invitations__hash UNIQUE CONSTRAINT ck_invitations__hash CHECK (octet_length(hash) = 32),
  team_uid text NOT NULL REFERENCES headrace.teams (uid),
  email text NOT NULL,
  role text NOT NULL CONSTRAINT ck_invitations__role CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
  created_by text NOT NULL REFERENCES headrace.users (uid),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX ux_invitations__team_email ON headrace.invitations (team_uid, lower(email));
CREATE INDEX ix_invitations__expires ON headrace.invitations (expires_at);
