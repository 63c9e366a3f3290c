-- The progress of each kind of retention. Everything that was last changed before upto has been examined. During a walk,
-- until is where it ends, and (slot_key, updated_at, run_id), the columns of ix_runs__updated, are its position.
CREATE TABLE headrace.retention_walks (
  kind text PRIMARY KEY CONSTRAINT ck_retention_walks__kind CHECK (kind IN ('runs', 'transcripts', 'timelines')),
  upto timestamptz NOT NULL DEFAULT '-infinity',
  until timestamptz,
  slot_key text NOT NULL DEFAULT '',
  updated_at timestamptz NOT NULL DEFAULT '-infinity',
  run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  -- Runs that could not be pruned when the walk passed them, because something still referred to them.
  revisit uuid[] NOT NULL DEFAULT '{}'
);
INSERT INTO headrace.retention_walks (kind) VALUES ('runs'), ('transcripts'), ('timelines');
