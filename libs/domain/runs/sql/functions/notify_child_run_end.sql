-- Notifies the processes in which an agent waits for the run that another run has started. A trigger does it, so that no statement that
-- ends a run need know of it. For other runs it costs the evaluation of the condition.
CREATE OR REPLACE FUNCTION headrace.notify_child_run_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_run_ends', NEW.id::text);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_runs__child_ended AFTER UPDATE OF state ON headrace.runs FOR EACH ROW
  WHEN (NEW.parent_run_id IS NOT NULL AND NEW.state IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED') AND NEW.state <> OLD.state)
  EXECUTE FUNCTION headrace.notify_child_run_end();
