-- Notifies the process that holds the connection of a worker that an execution is to be stopped, or was abandoned while the
-- worker may still run it.
CREATE OR REPLACE FUNCTION headrace.notify_worker_stop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('headrace_worker_stops', NEW.worker_connection_id || ' ' || NEW.run_id || ' ' || NEW.id);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER tr_executions__worker_to_stop AFTER UPDATE OF desired ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.ended_at IS NULL AND NEW.desired IN ('stop', 'kill')
    AND NEW.desired IS DISTINCT FROM OLD.desired)
  EXECUTE FUNCTION headrace.notify_worker_stop();
CREATE OR REPLACE TRIGGER tr_executions__worker_given_up AFTER UPDATE OF ended_at ON headrace.executions FOR EACH ROW
  WHEN (NEW.worker_connection_id IS NOT NULL AND NEW.offer_sent_at IS NOT NULL AND OLD.ended_at IS NULL
    AND NEW.ended_at IS NOT NULL AND NEW.end_reason IN ('claim_expired', 'lease_expired', 'fenced'))
  EXECUTE FUNCTION headrace.notify_worker_stop();
