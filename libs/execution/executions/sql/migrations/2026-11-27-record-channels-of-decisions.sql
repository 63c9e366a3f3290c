-- Decisions by signed decisions in messages: the channel, or the account of a chat service, is no user. Its name is kept.

ALTER TABLE headrace.approvals
  ADD COLUMN decided_by_name text,
  DROP CONSTRAINT ck_approvals__decided_via,
  ADD CONSTRAINT ck_approvals__decided_via CHECK (decided_via IN ('user', 'rule', 'timeout', 'cancel', 'channel'));
