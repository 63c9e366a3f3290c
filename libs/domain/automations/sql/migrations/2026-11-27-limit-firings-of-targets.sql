-- How often events of one issue, pull request, branch or tag have started an automation, so that automations that cause events
-- for each other stop. A row is replaced in each window and deleted a day later.
CREATE TABLE headrace.automation_targets (
  automation_id bigint NOT NULL REFERENCES headrace.automations (id) ON DELETE CASCADE,
  target text NOT NULL,
  window_started_at timestamptz NOT NULL,
  firings int NOT NULL,
  PRIMARY KEY (automation_id, target)
);
CREATE INDEX ix_automation_targets__window ON headrace.automation_targets (automation_id, window_started_at);
