-- Notifies the processes that hold connections of workers that a run waits for a worker. A trigger does it, so that a
-- statement that queues a run need not know of workers. For hosted runs it costs the evaluation of the condition.
CREATE OR REPLACE FUNCTION headrace.notify_worker_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_runs', NEW.team_uid || ' ' || substr(NEW.pool, 8));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_runs__queued_for_worker AFTER INSERT ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NOT NEW.is_held AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.notify_worker_run();
CREATE OR REPLACE TRIGGER tr_runs__requeued_for_worker AFTER UPDATE OF state, pool, is_held ON headrace.runs FOR EACH ROW
  WHEN (NEW.state = 'QUEUED' AND NOT NEW.is_held AND NEW.team_uid IS NOT NULL AND starts_with(NEW.pool, 'worker:'))
  EXECUTE FUNCTION headrace.notify_worker_run();
