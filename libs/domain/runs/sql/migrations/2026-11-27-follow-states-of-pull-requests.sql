-- When the server has reported the state of the pull request, which then applies in place of what runs report.
ALTER TABLE headrace.artifacts ADD COLUMN status_at timestamptz;
