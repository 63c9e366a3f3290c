-- Names without a schema are in the schema of the plugin, plugin_example_resource.
CREATE TABLE notes (
  uid text PRIMARY KEY,
  team_uid text NOT NULL,
  title text NOT NULL CONSTRAINT ck_notes__title CHECK (btrim(title) <> ''),
  created_at timestamptz NOT NULL DEFAULT headrace.now(),
  expires_at timestamptz
);
CREATE INDEX ix_notes__team ON notes (team_uid, created_at);
CREATE INDEX ix_notes__expired ON notes (expires_at) WHERE expires_at IS NOT NULL;
