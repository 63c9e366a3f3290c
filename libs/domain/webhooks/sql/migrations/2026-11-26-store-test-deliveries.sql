-- Redeliveries and test deliveries have one rate limit.
CREATE INDEX ix_webhook_deliveries__requested ON headrace.webhook_deliveries (webhook_id, id)
  WHERE identity_kind IN ('redelivery', 'test');
DROP INDEX headrace.ix_webhook_deliveries__redelivery;
