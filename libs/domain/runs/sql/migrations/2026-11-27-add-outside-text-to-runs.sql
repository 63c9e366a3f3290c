-- Whether text from outside can be part of what the agent of the run reads. Triggers set it, and nothing takes it back: the run from which
-- the text comes can be deleted.
ALTER TABLE headrace.runs ADD COLUMN from_outside boolean NOT NULL DEFAULT false;
