-- The format of the messages of a notification webhook, and the position in the log of the run at which a message was written:
-- the result of the run is read when the message is sent.

ALTER TABLE headrace.notification_webhooks
  ADD COLUMN format text NOT NULL DEFAULT 'json'
    CONSTRAINT ck_notification_webhooks__format CHECK (format IN ('json', 'slack', 'discord', 'teams'));

ALTER TABLE headrace.notification_deliveries ADD COLUMN run_seq bigint;
