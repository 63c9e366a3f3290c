-- Which runs a notification webhook reports, as on the wire: schedule_ids, automation_ids, artifact_types. Null: all runs.
ALTER TABLE headrace.notification_webhooks ADD COLUMN filter jsonb;
