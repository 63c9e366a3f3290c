-- For lists, which end at a number of bytes: without it each list would read all configurations. In JSON, a control character has six
-- bytes. The rest of a schedule has less than 1,000.
ALTER TABLE headrace.schedules
  ADD COLUMN listed_bytes int NOT NULL GENERATED ALWAYS AS (
    1000 + coalesce(octet_length(agent_config::text), 0) + coalesce(octet_length(metadata::text), 0) + octet_length(name)
    + octet_length(regexp_replace(left(prompt, 2048), '[\x01-\x1f"\\]', '      ', 'g'))) STORED;
