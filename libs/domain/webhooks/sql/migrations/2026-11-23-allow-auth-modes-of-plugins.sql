-- Plugins add modes; the application checks them.
ALTER TABLE headrace.webhooks DROP CONSTRAINT ck_webhooks__auth_mode;
ALTER TABLE headrace.webhooks
  ADD CONSTRAINT ck_webhooks__auth_mode CHECK (auth_mode ~ '^[a-z][a-z0-9_]{0,63}$');
