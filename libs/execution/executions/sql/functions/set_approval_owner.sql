-- Sets the owner of a permission request to the owner of its run.
CREATE OR REPLACE FUNCTION headrace.set_approval_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT slot_key INTO NEW.slot_key FROM headrace.runs WHERE id = NEW.run_id;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER tr_approvals__owner BEFORE INSERT ON headrace.approvals FOR EACH ROW
  WHEN (NEW.slot_key IS NULL) EXECUTE FUNCTION headrace.set_approval_owner();
