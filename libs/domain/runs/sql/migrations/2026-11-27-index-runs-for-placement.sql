-- Apart from the column of held runs: creating an index lets readers continue, changing the table does not.
CREATE INDEX ix_runs__placement ON headrace.runs (pool, slot_key, queued_at) WHERE state = 'QUEUED' AND NOT is_held;
DROP INDEX headrace.ix_runs__queue;
