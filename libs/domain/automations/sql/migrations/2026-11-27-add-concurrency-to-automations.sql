-- As on the wire: policy, key, max_followups. Null: an event always starts a run.
ALTER TABLE headrace.automations ADD COLUMN concurrency jsonb;
