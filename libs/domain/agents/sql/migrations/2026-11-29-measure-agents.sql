-- For lists, which end at a number of bytes: without them each list would read all configurations. In JSON, a control character has
-- six bytes. The rest of both has less than 1,000. The size of arrays cannot be in such a column.
ALTER TABLE headrace.agent_identities
  ADD COLUMN listed_bytes int NOT NULL GENERATED ALWAYS AS (
    1000 + coalesce(octet_length(mcp_servers::text), 0) + coalesce(octet_length(harness::text), 0) + octet_length(name)
    + octet_length(default_runner_uid) + coalesce(octet_length(worker_host), 0) + coalesce(octet_length(base_model), 0)
    + coalesce(octet_length(regexp_replace(description, '[\x01-\x1f"\\]', '      ', 'g')), 0)
    + coalesce(octet_length(regexp_replace(left(prompt, 2048), '[\x01-\x1f"\\]', '      ', 'g')), 0)) STORED;
ALTER TABLE headrace.mcp_servers
  ADD COLUMN listed_bytes int NOT NULL GENERATED ALWAYS AS (
    1000 + octet_length(config::text) + octet_length(name)
    + coalesce(octet_length(regexp_replace(description, '[\x01-\x1f"\\]', '      ', 'g')), 0)) STORED;
