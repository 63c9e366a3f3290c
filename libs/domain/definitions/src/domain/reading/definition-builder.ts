import type {
  AgentSettings,
  AgentSpec,
  AutomationSpec,
  DefinitionFile,
  FactoryDefinition,
  FactorySpec,
  WebhookSpec,
} from '../definition.js';
import { settingsOf } from '../desired-state.js';
import type { PlacedFile } from '../files/check-files.js';

/** Puts a definition together, file by file. */
export class DefinitionBuilder {
  private factory: FactorySpec | undefined;
  private readonly webhooks: WebhookSpec[] = [];
  private readonly automations: AutomationSpec[] = [];
  private readonly agents: AgentSpec[] = [];
  private readonly skills: DefinitionFile[] = [];

  /** `value`: what the schema of its kind has let through. */
  add({ path, text, place }: PlacedFile, value: unknown, prompt: string): void {
    switch (place.kind) {
      case 'factory':
        this.factory = factorySpec(value as FactoryValue);
        return;
      case 'webhook':
        this.webhooks.push(webhookSpec(place.name, value as WebhookValue));
        return;
      case 'automation':
        this.automations.push(automationSpec(place.name, value as AutomationValue, prompt));
        return;
      case 'agent':
        this.agents.push(agentSpec(place.name, value as AgentValue, prompt));
        return;
      case 'skill':
        this.skills.push({ path, content: text });
    }
  }

  /** undefined without a factory.yaml. */
  build(): FactoryDefinition | undefined {
    return (
      this.factory && {
        factory: this.factory,
        webhooks: byName(this.webhooks),
        automations: byName(this.automations),
        agents: byName(this.agents),
        skills: this.skills,
      }
    );
  }
}

function byName<Spec extends { readonly name: string }>(specs: readonly Spec[]): ReadonlyMap<string, Spec> {
  const sorted = [...specs].sort((one, other) => (one.name < other.name ? -1 : 1));
  return new Map(sorted.map((spec) => [spec.name, spec]));
}

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
