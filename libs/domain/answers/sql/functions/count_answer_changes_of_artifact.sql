-- Counts the changes of the pull requests of a run, as count_answer_changes_of_run.sql counts those of the run.
CREATE OR REPLACE FUNCTION headrace.count_answer_changes_of_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE headrace.run_answers SET changes = changes + 1 WHERE run_id = NEW.run_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_artifacts__insert_changes_answers AFTER INSERT ON headrace.artifacts FOR EACH ROW
  WHEN (NEW.artifact_type = 'PULL_REQUEST')
  EXECUTE FUNCTION headrace.count_answer_changes_of_artifact();
CREATE OR REPLACE TRIGGER tr_artifacts__update_changes_answers AFTER UPDATE OF data, own_since ON headrace.artifacts FOR EACH ROW
  WHEN (NEW.artifact_type = 'PULL_REQUEST' AND (NEW.data <> OLD.data OR NEW.own_since IS DISTINCT FROM OLD.own_since))
  EXECUTE FUNCTION headrace.count_answer_changes_of_artifact();
