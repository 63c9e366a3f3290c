-- The runs of earlier versions. `links`: what the second run has of the first one.
WITH RECURSIVE links (giver, taker) AS MATERIALIZED (
  SELECT parent_run_id, id FROM headrace.runs WHERE parent_run_id IS NOT NULL
  UNION ALL SELECT rerun_of, id FROM headrace.runs WHERE rerun_of IS NOT NULL
  UNION ALL SELECT forked_from_run_id, id FROM headrace.runs WHERE forked_from_run_id IS NOT NULL
  -- Results of runs that agents have started.
  UNION ALL SELECT id, parent_run_id FROM headrace.runs WHERE started_by_run
  UNION ALL SELECT lag(id) OVER (PARTITION BY conversation_id ORDER BY created_at, id), id FROM headrace.runs
    WHERE conversation_id IS NOT NULL
), outside (id) AS (
  SELECT id FROM headrace.runs WHERE source IN ('CUSTOM_WEBHOOK', 'GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'AZURE_DEVOPS_WEBHOOK',
    'GITHUB_ACTION', 'LINEAR', 'JIRA', 'SLACK', 'TEAMS')
  UNION SELECT run_id FROM headrace.run_followups WHERE launch_key IS NOT NULL AND NOT starts_with(launch_key, 'request/')
  UNION SELECT run_id FROM headrace.run_attachments WHERE starts_with(file_name, 'event-payload')
  -- A deleted run may have been one from outside.
  UNION SELECT l.taker FROM links l WHERE l.giver IS NOT NULL AND NOT EXISTS (SELECT 1 FROM headrace.runs r WHERE r.id = l.giver)
  UNION SELECT l.taker FROM outside o JOIN links l ON l.giver = o.id
)
UPDATE headrace.runs SET from_outside = true WHERE id IN (SELECT id FROM outside);
