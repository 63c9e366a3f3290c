import { maskConfig } from '#domain/runs';
import type { AutomationView } from '../application/automation-outcomes.js';
import type { AutomationItem } from './automation.dto.js';

export function presentAutomation({ automation, obstacles }: AutomationView): AutomationItem {
  const { agentConfig, agentIdentityUid } = automation;
  return {
    uid: automation.uid,
    name: automation.name,
    enabled: automation.enabled,
    prompt: automation.prompt,
    ...(agentConfig !== null && { agent_config: maskConfig(agentConfig) }),
    ...(agentIdentityUid !== null && { agent_identity_uid: agentIdentityUid }),
    triggers: automation.triggers.map((trigger) => {
      const obstacle = obstacles.get(trigger);
      return { ...trigger, ...(obstacle && { obstacle: { ...obstacle } }) };
    }),
    source: automation.source,
    created_at: automation.createdAt.toISOString(),
    updated_at: automation.updatedAt.toISOString(),
  };
}
