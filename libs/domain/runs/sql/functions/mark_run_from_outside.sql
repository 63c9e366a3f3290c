-- Marks new runs into whose prompt, files or session text of strangers can come: by their source, or from a run whose text they have. Marks of
-- those runs are committed before their agents read the text, so a statement that begins after the text was copied sees them.
CREATE OR REPLACE FUNCTION headrace.mark_run_from_outside() RETURNS trigger LANGUAGE plpgsql
  -- A connection keeps the plans of a small table while the table grows.
  SET enable_seqscan = off
AS $$
BEGIN
  NEW.from_outside := NEW.from_outside
    -- CI also runs for forks.
    OR NEW.source IN ('CUSTOM_WEBHOOK', 'GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'AZURE_DEVOPS_WEBHOOK', 'GITHUB_ACTION', 'LINEAR', 'JIRA',
      'SLACK', 'TEAMS')
    -- One that was deleted may have been such a run. Not a join, which hashes the whole table.
    OR EXISTS (SELECT 1 FROM unnest(ARRAY[NEW.parent_run_id, NEW.rerun_of, NEW.forked_from_run_id]) AS used (id)
        WHERE used.id IS NOT NULL AND (SELECT r.from_outside FROM headrace.runs r WHERE r.id = used.id) IS NOT FALSE)
    OR NEW.conversation_id IS NOT NULL
      AND coalesce((SELECT bool_or(r.from_outside) FROM headrace.runs r WHERE r.conversation_id = NEW.conversation_id), true);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER tr_runs__from_outside BEFORE INSERT ON headrace.runs FOR EACH ROW
  WHEN (NEW.source <> 'API' OR NEW.parent_run_id IS NOT NULL OR NEW.rerun_of IS NOT NULL OR NEW.forked_from_run_id IS NOT NULL
    OR NEW.conversation_id IS NOT NULL)
  EXECUTE FUNCTION headrace.mark_run_from_outside();
