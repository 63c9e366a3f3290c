-- Lists leave out large inputs: computing their sizes would read all of them.

ALTER TABLE headrace.approvals
  ADD COLUMN input_bytes int GENERATED ALWAYS AS (coalesce(octet_length(input::text), 0)) STORED;
