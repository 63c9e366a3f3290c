-- Entries of the audit log are neither changed nor deleted. Who may remove the trigger can do both: the hashes show it.
CREATE OR REPLACE FUNCTION headrace.reject_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Entries of the audit log cannot be changed or deleted.' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE TRIGGER tr_audit_log_entries__append_only BEFORE UPDATE OR DELETE ON headrace.audit_log_entries
  FOR EACH ROW EXECUTE FUNCTION headrace.reject_audit_change();
CREATE OR REPLACE TRIGGER tr_audit_log_entries__no_truncate BEFORE TRUNCATE ON headrace.audit_log_entries
  FOR EACH STATEMENT EXECUTE FUNCTION headrace.reject_audit_change();
