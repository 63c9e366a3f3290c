-- comment, check, reaction: which parts of its answers runs write. Null: all.
ALTER TABLE headrace.automations ADD COLUMN answers jsonb;
