-- For lists, which end at a number of bytes: without them each list would read all configurations.
ALTER TABLE headrace.environments
  ADD COLUMN config_bytes int NOT NULL GENERATED ALWAYS AS (octet_length(config::text)) STORED,
  ADD COLUMN name_key text GENERATED ALWAYS AS (lower(config->>'name')) STORED;
