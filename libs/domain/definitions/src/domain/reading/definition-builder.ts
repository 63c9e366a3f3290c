import { type AutomationAnswers, automationAnswers, type AutomationConcurrency } from '#domain/automations';
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

/** Values that the schemas have accepted: their keys are those of the specs. */
type SettingsValue = Omit<AgentSettings, 'mcpServers'> & {
  readonly mcpServers?: Readonly<Record<string, { readonly warp_id: string }>>;
};
type FactoryValue = Partial<Omit<FactorySpec, 'name' | 'agentDefaults'>> & {
  readonly name: string;
  readonly agentDefaults?: SettingsValue;
};
type WebhookValue = Partial<WebhookSpec> & Pick<WebhookSpec, 'secretName'>;
type AutomationValue = SettingsValue &
  Partial<Pick<AutomationSpec, 'enabled' | 'agent'>> &
  Pick<AutomationSpec, 'triggers'> & {
    readonly concurrency?: Pick<AutomationConcurrency, 'policy'> & Partial<AutomationConcurrency>;
    readonly answers?: Partial<AutomationAnswers>;
    readonly eventRepository?: boolean;
  };
type AgentValue = SettingsValue & Partial<Pick<AgentSpec, 'description' | 'skills'>>;

const WEBHOOK_DEFAULTS = { authMode: 'token', signatureScheme: null, deliveryIdHeader: null, enabled: true } as const;

export class DefinitionBuilder {
  private factory: FactorySpec | undefined;
  private readonly webhooks: WebhookSpec[] = [];
  private readonly automations: AutomationSpec[] = [];
  private readonly agents: AgentSpec[] = [];
  private readonly skills: DefinitionFile[] = [];

  add({ path, text, place }: PlacedFile, value: unknown, prompt: string): void {
    switch (place.kind) {
      case 'factory': {
        const { name, description = '', alias = null, agentDefaults = {} } = value as FactoryValue;
        this.factory = { name, description, alias, agentDefaults: settings(agentDefaults) };
        return;
      }
      case 'webhook':
        this.webhooks.push({ ...WEBHOOK_DEFAULTS, ...(value as WebhookValue), name: place.name });
        return;
      case 'automation': {
        const automation = value as AutomationValue;
        const { enabled = true, agent = null, triggers, concurrency: given } = automation;
        const concurrency = given && { key: null, maxFollowups: null, ...given };
        const answers = automationAnswers(automation.answers);
        const { eventRepository = false } = automation;
        const chosen = {
          ...(concurrency && { concurrency }),
          ...(answers && { answers }),
          ...(eventRepository && { eventRepository }),
        };
        const own = { name: place.name, enabled, agent, ...chosen, triggers, prompt };
        this.automations.push({ ...own, ...settings(automation) });
        return;
      }
      case 'agent': {
        const agent = value as AgentValue;
        const { description = null, skills } = agent;
        this.agents.push({ name: place.name, description, prompt, ...(skills && { skills }), ...settings(agent) });
        return;
      }
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

function settings({ mcpServers, ...others }: SettingsValue): AgentSettings {
  const uids = Object.entries(mcpServers ?? {}).map(([name, { warp_id: uid }]) => [name, uid] as const);
  return settingsOf({ ...others, ...(mcpServers && { mcpServers: Object.fromEntries(uids) }) });
}
