-- The service account that executes an external execution. Empty: a user executes it. Null: it is not external.
ALTER TABLE headrace.executions ADD COLUMN account_uid text;
-- The author of the last follow-up, which continued the run, or else the creator, who has registered it.
UPDATE headrace.executions e
   SET account_uid = coalesce((SELECT f.author_uid FROM headrace.run_followups f
         WHERE f.run_id = r.id AND f.author_type = 'service_account' AND f.created_at <= e.offered_at ORDER BY f.position DESC LIMIT 1),
       CASE WHEN r.creator_type = 'service_account' THEN r.creator_uid ELSE '' END)
  FROM headrace.runs r
 WHERE r.id = e.run_id AND e.pool = 'external' AND e.ended_at IS NULL AND e.user_uid = '';
