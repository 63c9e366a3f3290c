-- The user on whose machine an external execution runs. Empty: that of a service account. Null: it is not external.
ALTER TABLE headrace.executions ADD COLUMN user_uid text;
UPDATE headrace.executions e SET user_uid = r.creator_uid FROM headrace.runs r
 WHERE r.id = e.run_id AND e.pool = 'external' AND e.ended_at IS NULL AND r.creator_type = 'user';
