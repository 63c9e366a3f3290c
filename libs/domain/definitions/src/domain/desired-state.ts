import { BLANK_IDENTITY, type IdentityFields } from '#domain/agents';
import type { AutomationFields, Trigger } from '#domain/automations';
import { toAgentConfig, toServers, settingsOf, withDefaults } from './agent-settings.js';
import type {
  AgentSettings,
  AgentSpec,
  AutomationSpec,
  DefinitionFile,
  FactoryDefinition,
  FactorySpec,
  WebhookSpec,
} from './definition.js';

/** An automation whose agent is still called by its name: its identity may not be there yet. */
export interface DesiredAutomation {
  readonly fields: Omit<AutomationFields, 'agentIdentityUid'>;
  /** Of this definition. */
  readonly agent: string | null;
}

/** What the resources of a factory are to be, by name; the factory's defaults are in them. */
export interface DesiredState {
  readonly factory: FactorySpec;
  readonly webhooks: ReadonlyMap<string, WebhookSpec>;
  readonly agents: ReadonlyMap<string, IdentityFields>;
  readonly automations: ReadonlyMap<string, DesiredAutomation>;
  readonly skills: readonly DefinitionFile[];
}

export function desiredState({ factory, webhooks, agents, automations, skills }: FactoryDefinition): DesiredState {
  const { agentDefaults: defaults } = factory;
  return {
    factory,
    webhooks,
    agents: mapOf(agents, (spec) => toIdentity(spec, defaults)),
    automations: mapOf(automations, (spec) => toAutomation(spec, defaults)),
    skills,
  };
}

const mapOf = <From, To>(from: ReadonlyMap<string, From>, convert: (value: From) => To): Map<string, To> =>
  new Map([...from].map(([name, value]) => [name, convert(value)]));

/** An identity with these settings and nothing else. */
export function identityWith(
  name: string,
  { model, environmentId, workerHost, harness, mcpServers }: AgentSettings,
): IdentityFields {
  return {
    ...BLANK_IDENTITY,
    name,
    baseModel: model ?? null,
    environmentId: environmentId ?? null,
    workerHost: workerHost ?? null,
    harness: harness === undefined ? null : { type: harness },
    mcpServers: mcpServers === undefined ? null : toServers(mcpServers),
  };
}

const toIdentity = (spec: AgentSpec, defaults: AgentSettings): IdentityFields => ({
  ...identityWith(spec.name, withDefaults(defaults, spec)),
  description: spec.description,
  prompt: spec.prompt === '' ? null : spec.prompt,
  skills: spec.skills ?? [],
});

/** With an agent, that brings the rest when a run is created. */
const toAutomation = (spec: AutomationSpec, defaults: AgentSettings): DesiredAutomation => ({
  agent: spec.agent,
  fields: {
    name: spec.name,
    enabled: spec.enabled,
    prompt: spec.prompt,
    agentConfig: toAgentConfig(spec.agent === null ? withDefaults(defaults, spec) : settingsOf(spec)),
    triggers: spec.triggers as readonly Trigger[],
  },
});
