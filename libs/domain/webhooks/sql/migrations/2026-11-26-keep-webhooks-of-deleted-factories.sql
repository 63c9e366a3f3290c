-- The row of a deleted webhook stays until its log has expired, also when its factory is deleted meanwhile. The row of the quota
-- keeps its foreign key: every creation of a webhook writes it, so that none is created in a factory that is being deleted.
ALTER TABLE headrace.webhooks DROP CONSTRAINT webhooks_factory_uid_fkey;
ALTER TABLE headrace.webhook_counts DROP CONSTRAINT webhook_counts_factory_uid_fkey;
ALTER TABLE headrace.webhook_counts ADD CONSTRAINT fk_webhook_counts__factory
  FOREIGN KEY (factory_uid) REFERENCES headrace.factories (uid) ON DELETE CASCADE;
