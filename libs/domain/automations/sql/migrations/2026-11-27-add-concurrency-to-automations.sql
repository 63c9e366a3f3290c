-- policy, key, maxFollowups. Null: an event always starts a run.
ALTER TABLE headrace.automations ADD COLUMN concurrency jsonb;
