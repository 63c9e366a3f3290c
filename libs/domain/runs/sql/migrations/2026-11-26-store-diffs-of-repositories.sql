-- The patch of a repository that a run has changed. A run has at most one for each repository.
ALTER TABLE headrace.artifacts
  DROP CONSTRAINT ck_artifacts__type,
  DROP CONSTRAINT ck_artifacts__content,
  ADD CONSTRAINT ck_artifacts__type CHECK (artifact_type IN
    ('PLAN', 'PULL_REQUEST', 'SCREENSHOT', 'FILE', 'DIFF', 'EXTERNAL_REFERENCE')),
  ADD CONSTRAINT ck_artifacts__content CHECK ((object_key IS NOT NULL) = (artifact_type IN ('PLAN', 'SCREENSHOT', 'FILE', 'DIFF')));
CREATE UNIQUE INDEX uq_artifacts__diff ON headrace.artifacts (run_id, (data->>'filepath')) WHERE artifact_type = 'DIFF';
