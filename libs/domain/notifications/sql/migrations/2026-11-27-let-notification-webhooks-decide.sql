-- Buttons in messages of chat services that decide what a run waits for. Signed decisions of an earlier revision are not accepted.
ALTER TABLE headrace.notification_webhooks
  ADD COLUMN decisions boolean NOT NULL DEFAULT false,
  ADD COLUMN decisions_revision int NOT NULL DEFAULT 0;
