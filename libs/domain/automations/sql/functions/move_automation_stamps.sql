-- Increases the stamp of each factory whose automations a statement has changed.
CREATE OR REPLACE FUNCTION headrace.move_automation_stamps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- In the order of the factories, so that two transactions never wait for each other in a circle.
  INSERT INTO headrace.automation_stamps (factory_uid, stamp)
  SELECT DISTINCT c.factory_uid, 1 FROM changed c JOIN headrace.factories f ON f.uid = c.factory_uid ORDER BY 1
  ON CONFLICT (factory_uid) DO UPDATE SET stamp = automation_stamps.stamp + 1;
  RETURN NULL;
END $$;

-- One trigger for each event: only a trigger with one event can refer to the table of changed rows.
CREATE OR REPLACE TRIGGER tr_automations__insert_moves_stamp AFTER INSERT ON headrace.automations
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE OR REPLACE TRIGGER tr_automations__update_moves_stamp AFTER UPDATE ON headrace.automations
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE OR REPLACE TRIGGER tr_automations__delete_moves_stamp AFTER DELETE ON headrace.automations
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE OR REPLACE TRIGGER tr_automation_triggers__insert_moves_stamp AFTER INSERT ON headrace.automation_triggers
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE OR REPLACE TRIGGER tr_automation_triggers__update_moves_stamp AFTER UPDATE ON headrace.automation_triggers
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
CREATE OR REPLACE TRIGGER tr_automation_triggers__delete_moves_stamp AFTER DELETE ON headrace.automation_triggers
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION headrace.move_automation_stamps();
