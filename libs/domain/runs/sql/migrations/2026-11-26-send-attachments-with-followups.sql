-- Files that a run was created with, and those that are sent with its follow-ups. Until a file is sent, position is null: it is
-- prepared. Until it is uploaded, size_bytes and object_key are null. followup_id is null for files of the request that created
-- the run.
ALTER TABLE headrace.run_attachments
  ALTER COLUMN position DROP NOT NULL,
  ALTER COLUMN size_bytes DROP NOT NULL,
  ALTER COLUMN object_key DROP NOT NULL,
  ADD COLUMN followup_id uuid;
