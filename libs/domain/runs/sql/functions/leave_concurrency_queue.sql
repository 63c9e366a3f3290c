-- A run that was cancelled while it was held does not wait any more. A trigger does it, so that no statement that changes states
-- need know of the queue, and so that a process of an older version leaves nothing behind.
CREATE OR REPLACE FUNCTION headrace.leave_concurrency_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.is_held := false;
  DELETE FROM headrace.concurrency_queue WHERE run_id = NEW.id;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER tr_runs__leave_queue BEFORE UPDATE OF state ON headrace.runs FOR EACH ROW
  WHEN (OLD.is_held AND NEW.state <> 'QUEUED')
  EXECUTE FUNCTION headrace.leave_concurrency_queue();
