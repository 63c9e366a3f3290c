-- The event that a follow-up was sent for, so that an event that is evaluated again sends none.
ALTER TABLE headrace.run_followups ADD COLUMN launch_key text;
CREATE UNIQUE INDEX ux_run_followups__launch_key ON headrace.run_followups (launch_key) WHERE launch_key IS NOT NULL;
