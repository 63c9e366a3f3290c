-- Marks a run that gets text of an event later: a follow-up that the service sends for an event, or the payload of an event. The transaction
-- that inserts a follow-up has locked the run.
CREATE OR REPLACE FUNCTION headrace.mark_run_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE headrace.runs SET from_outside = true WHERE id = NEW.run_id AND NOT from_outside;
  RETURN NULL;
END $$;

-- Follow-ups for requests with a concurrency key have text of the caller.
CREATE OR REPLACE TRIGGER tr_run_followups__from_outside AFTER INSERT ON headrace.run_followups FOR EACH ROW
  WHEN (NEW.launch_key IS NOT NULL AND NOT starts_with(NEW.launch_key, 'request/'))
  EXECUTE FUNCTION headrace.mark_run_of_event();

CREATE OR REPLACE TRIGGER tr_run_attachments__from_outside AFTER INSERT ON headrace.run_attachments FOR EACH ROW
  WHEN (starts_with(NEW.file_name, 'event-payload'))
  EXECUTE FUNCTION headrace.mark_run_of_event();
