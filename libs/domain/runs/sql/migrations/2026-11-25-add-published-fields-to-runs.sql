-- The last time at which the run reached a terminal state. Null while it is active, and for runs that ended before this
-- column existed.
ALTER TABLE headrace.runs ADD COLUMN finished_at timestamptz;
-- The prompt as it was submitted, where the prompt of the run has more: an automation adds its event. Null: they are equal.
ALTER TABLE headrace.runs ADD COLUMN submitted_prompt text;
