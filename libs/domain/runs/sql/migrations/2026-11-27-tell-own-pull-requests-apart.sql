-- Of a pull request: since when it is known to be in a repository of the run, and created by the run or with a head that the run has pushed.
-- Agents can report every address.
ALTER TABLE headrace.artifacts ADD COLUMN own_since timestamptz;
