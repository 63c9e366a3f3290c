-- Answers in threads of Slack. The repository is workspace and channel, the number is the id of the first message without its dot.
ALTER TABLE headrace.run_answers
  DROP CONSTRAINT ck_run_answers__provider,
  ADD CONSTRAINT ck_run_answers__provider CHECK (provider IN ('github', 'gitlab', 'slack')),
  DROP CONSTRAINT ck_run_answers__target_kind,
  ADD CONSTRAINT ck_run_answers__target_kind CHECK (target_kind IN ('issue', 'pull_request', 'thread')),
  -- Of threads: the managed secret with the token, and the automation whose setting it is.
  ADD COLUMN secret_name text,
  ADD COLUMN automation_uid text,
  -- Whether the message has buttons that decide.
  ADD COLUMN decisions boolean NOT NULL DEFAULT false,
  -- What has got the receipt, and gets another reaction when the run has ended.
  ADD COLUMN acknowledged text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT ck_run_answers__thread CHECK ((provider = 'slack') = (target_kind = 'thread') AND (provider = 'slack') = (secret_name IS NOT NULL)
    AND (secret_name IS NULL) = (automation_uid IS NULL));
