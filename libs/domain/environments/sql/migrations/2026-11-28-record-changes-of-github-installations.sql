-- Tokens that were created before the last change are not used any more.
CREATE TABLE headrace.github_installation_changes (
  team_uid text NOT NULL REFERENCES headrace.teams (uid) ON DELETE CASCADE,
  app_id bigint NOT NULL,
  -- In lower case.
  account text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  changed_at timestamptz NOT NULL DEFAULT headrace.now(),
  PRIMARY KEY (team_uid, app_id, account)
);
