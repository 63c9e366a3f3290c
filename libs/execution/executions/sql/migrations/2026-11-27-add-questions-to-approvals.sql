-- Questions of agents to a person are approvals of another kind than permission requests.

ALTER TABLE headrace.approvals
  ADD COLUMN kind text NOT NULL DEFAULT 'permission'
    CONSTRAINT ck_approvals__kind CHECK (kind IN ('permission', 'question')),
  -- Of a question: it may be answered with a text.
  ADD COLUMN allow_text boolean NOT NULL DEFAULT false,
  -- Of a question: {option_id, option, text}.
  ADD COLUMN answer jsonb,
  DROP CONSTRAINT ck_approvals__state,
  ADD CONSTRAINT ck_approvals__state CHECK (state IN ('pending', 'allowed', 'denied', 'answered')),
  ADD CONSTRAINT ck_approvals__answer CHECK ((state = 'answered') = (answer IS NOT NULL) AND (answer IS NULL OR kind = 'question'));
