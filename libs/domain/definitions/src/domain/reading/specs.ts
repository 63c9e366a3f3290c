import { settingsOf } from '../agent-settings.js';
import type { AgentSettings, AgentSpec, AutomationSpec, FactorySpec, WebhookSpec } from '../definition.js';

/** Values as the schemas let them through, key by key. */
type Servers = Readonly<Record<string, { readonly warp_id: string }>>;
type Settings = Omit<AgentSettings, 'mcpServers'> & { readonly mcpServers?: Servers };
export interface FactoryValue {
  readonly name: string;
  readonly description?: string;
  readonly alias?: string;
  readonly agentDefaults?: Settings;
}
export type WebhookValue = Pick<WebhookSpec, 'secretName'> & {
  readonly authMode?: WebhookSpec['authMode'];
  readonly signatureScheme?: string;
  readonly deliveryIdHeader?: string;
  readonly enabled?: boolean;
};
export type AutomationValue = Settings & {
  readonly enabled?: boolean;
  readonly agent?: string;
  readonly triggers: AutomationSpec['triggers'];
};
export type AgentValue = Settings & { readonly description?: string; readonly skills?: readonly string[] };

export const factorySpec = (value: FactoryValue): FactorySpec => ({
  name: value.name,
  description: value.description ?? '',
  alias: value.alias ?? null,
  agentDefaults: settings(value.agentDefaults ?? {}),
});

export const webhookSpec = (name: string, value: WebhookValue): WebhookSpec => ({
  name,
  authMode: value.authMode ?? 'token',
  signatureScheme: value.signatureScheme ?? null,
  secretName: value.secretName,
  deliveryIdHeader: value.deliveryIdHeader ?? null,
  enabled: value.enabled ?? true,
});

export const automationSpec = (name: string, value: AutomationValue, prompt: string): AutomationSpec => ({
  name,
  enabled: value.enabled ?? true,
  agent: value.agent ?? null,
  triggers: value.triggers,
  prompt,
  ...settings(value),
});

export const agentSpec = (name: string, value: AgentValue, prompt: string): AgentSpec => ({
  name,
  description: value.description ?? null,
  prompt,
  ...(value.skills !== undefined && { skills: value.skills }),
  ...settings(value),
});

function settings({ mcpServers, ...others }: Settings): AgentSettings {
  const uids = Object.entries(mcpServers ?? {}).map(([name, { warp_id: uid }]) => [name, uid] as const);
  return settingsOf({ ...others, ...(mcpServers !== undefined && { mcpServers: Object.fromEntries(uids) }) });
}
