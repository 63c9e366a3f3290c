import type { AgentConfig, PrincipalRef } from '#domain/runs';
import type { Automation, AutomationSource } from '../domain/automation.js';
import type { Trigger } from '../domain/trigger.js';

export interface AutomationRow {
  id: string;
  uid: string;
  factory_uid: string;
  team_uid: string;
  name: string;
  enabled: boolean;
  prompt: string;
  agent_config: AgentConfig | null;
  agent_identity_uid: string | null;
  source: AutomationSource;
  author_type: PrincipalRef['type'];
  author_uid: string;
  version: string | number;
  created_at: Date;
  updated_at: Date;
  triggers: Trigger[];
}

/** What {@link toAutomation} reads, of `automations AS a`. */
export const automationColumns = (prompt = 'a.prompt'): string =>
  `a.id, a.uid, a.factory_uid, a.team_uid, a.name, a.enabled, ${prompt} AS prompt, a.agent_config, a.agent_identity_uid,
  a.source, a.author_type, a.author_uid, a.version, a.created_at, a.updated_at,
  (SELECT coalesce(jsonb_agg(t.trigger ORDER BY t.position), '[]') FROM automation_triggers t
    WHERE t.automation_id = a.id) AS triggers`;

/** With `env` and `headers` of MCP servers sealed. */
export const toAutomation = (row: AutomationRow): Automation => ({
  id: row.id,
  uid: row.uid,
  factoryUid: row.factory_uid,
  teamUid: row.team_uid,
  name: row.name,
  enabled: row.enabled,
  prompt: row.prompt,
  agentConfig: row.agent_config,
  agentIdentityUid: row.agent_identity_uid,
  triggers: row.triggers,
  source: row.source,
  author: { type: row.author_type, uid: row.author_uid },
  version: Number(row.version),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});
