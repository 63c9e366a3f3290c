-- Counts the changes of a run that its answers show. A trigger does it, so that no statement that changes a run needs another round
-- trip. States that a reader does not distinguish are left out: placing a run and claiming it cost the evaluation of a condition.
CREATE OR REPLACE FUNCTION headrace.count_answer_changes_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE headrace.run_answers SET changes = changes + 1 WHERE run_id = NEW.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_runs__changes_answers AFTER UPDATE OF state, status_message ON headrace.runs FOR EACH ROW
  WHEN (NEW.state NOT IN ('PENDING', 'CLAIMED')
    AND (NEW.state <> OLD.state OR NEW.status_message IS DISTINCT FROM OLD.status_message))
  EXECUTE FUNCTION headrace.count_answer_changes_of_run();
