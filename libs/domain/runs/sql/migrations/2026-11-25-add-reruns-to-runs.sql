-- rerun_of: the run whose input the run was created with. The source may have been deleted by retention.
-- submitted: what the run was created with, as far as its resolved configuration does not show it. Null: not recorded, because
-- an older version has created the run.
ALTER TABLE headrace.runs
  ADD COLUMN rerun_of uuid,
  ADD COLUMN submitted jsonb;
