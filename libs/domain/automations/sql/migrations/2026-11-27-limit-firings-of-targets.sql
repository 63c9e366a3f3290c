-- How often events have started an automation in the current window of an issue, pull request, branch or tag, and of its
-- repository, so that automations that cause events for each other stop. A row is deleted a day after its window.
CREATE TABLE headrace.automation_targets (
  automation_id bigint NOT NULL REFERENCES headrace.automations (id) ON DELETE CASCADE,
  target text NOT NULL,
  window_ends_at timestamptz NOT NULL,
  firings int NOT NULL,
  PRIMARY KEY (automation_id, target)
);
CREATE INDEX ix_automation_targets__window ON headrace.automation_targets (automation_id, window_ends_at);
