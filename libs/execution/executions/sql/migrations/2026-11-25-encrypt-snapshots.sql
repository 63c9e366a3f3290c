-- With which the object is encrypted, sealed with SECRETS_KEY. Objects from before have none.
ALTER TABLE headrace.snapshot_packs ADD COLUMN content_key text;
