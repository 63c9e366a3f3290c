-- Snapshots of workspaces: manifests, and packs with the content of files. Both are objects, which are never changed.

-- A manifest or a pack. The run that has stored it and the runs that were forked from it refer to it, and it is deleted with
-- the last of them.
CREATE TABLE headrace.snapshot_packs (
  id uuid PRIMARY KEY,
  object_key text NOT NULL,
  size_bytes bigint NOT NULL CONSTRAINT ck_snapshot_packs__size CHECK (size_bytes >= 0)
);
CREATE TABLE headrace.run_snapshot_packs (
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  pack_id uuid NOT NULL REFERENCES headrace.snapshot_packs (id),
  PRIMARY KEY (run_id, pack_id)
);
CREATE INDEX ix_run_snapshot_packs__pack ON headrace.run_snapshot_packs (pack_id);

-- seq is the sequence number of the event `workspace_snapshot` in the log of the run, so that a snapshot is between events. 0:
-- the snapshot of another run, with which a fork begins.
CREATE TABLE headrace.run_snapshots (
  id uuid PRIMARY KEY,
  run_id uuid NOT NULL REFERENCES headrace.runs (id) ON DELETE CASCADE,
  seq bigint NOT NULL,
  reason text NOT NULL,
  manifest_id uuid NOT NULL REFERENCES headrace.snapshot_packs (id),
  entries integer NOT NULL,
  size_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT uq_run_snapshots__seq UNIQUE (run_id, seq)
);
