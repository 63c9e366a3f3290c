-- Counts the decisions of a run that waits for another one, as count_answer_changes_of_run.sql counts the changes of its state.
CREATE OR REPLACE FUNCTION headrace.count_answer_changes_of_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE headrace.run_answers SET changes = changes + 1 WHERE run_id = NEW.run_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_approvals__changes_answers AFTER UPDATE OF state ON headrace.approvals FOR EACH ROW
  WHEN (OLD.state = 'pending' AND NEW.state <> 'pending')
  EXECUTE FUNCTION headrace.count_answer_changes_of_approval();
