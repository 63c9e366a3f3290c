-- Whether runs work in the repository of their event.
ALTER TABLE headrace.automations ADD COLUMN event_repository boolean NOT NULL DEFAULT false;
