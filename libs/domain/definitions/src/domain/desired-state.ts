import { BLANK_IDENTITY, type IdentityFields } from '#domain/agents';
import type { AutomationFields, Trigger } from '#domain/automations';
import type { AgentConfig } from '#domain/runs';
import type { AgentSettings, AgentSpec, AutomationSpec, FactoryDefinition } from './definition.js';

/** An automation whose agent is still called by its name: its identity may not be there yet. */
export interface DesiredAutomation {
  readonly fields: Omit<AutomationFields, 'agentIdentityUid'>;
  readonly agent: string | null;
}

/** What the resources of a factory are to be, by name; the factory's defaults are in them. */
export interface DesiredState extends Omit<FactoryDefinition, 'agents' | 'automations'> {
  readonly agents: ReadonlyMap<string, IdentityFields>;
  readonly automations: ReadonlyMap<string, DesiredAutomation>;
}

export function desiredState({ agents, automations, ...others }: FactoryDefinition): DesiredState {
  const { agentDefaults: defaults } = others.factory;
  return {
    ...others,
    agents: mapOf(agents, (spec) => toIdentity(spec, defaults)),
    automations: mapOf(automations, (spec) => toAutomation(spec, defaults)),
  };
}

const mapOf = <From, To>(from: ReadonlyMap<string, From>, convert: (value: From) => To): Map<string, To> =>
  new Map([...from].map(([name, value]) => [name, convert(value)]));

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
    concurrency: spec.concurrency ?? null,
    answers: spec.answers ?? null,
    eventRepository: spec.eventRepository ?? false,
    triggers: spec.triggers as readonly Trigger[],
  },
});

/** Own settings over the factory's; servers by their names. */
function withDefaults(defaults: AgentSettings, own: AgentSettings): AgentSettings {
  const mcpServers = { ...defaults.mcpServers, ...own.mcpServers };
  return settingsOf({
    ...settingsOf(defaults),
    ...settingsOf(own),
    ...(Object.keys(mcpServers).length > 0 && { mcpServers }),
  });
}

/** What has to stand in a file so that {@link withDefaults} gives `whole` again, as far as files can say it. */
export function withoutDefaults(defaults: AgentSettings, whole: AgentSettings): AgentSettings {
  const own = Object.entries(settingsOf(whole)).filter(
    ([key, value]) => key !== 'mcpServers' && value !== defaults[key as keyof AgentSettings],
  );
  const servers = Object.entries(whole.mcpServers ?? {}).filter(([name, uid]) => defaults.mcpServers?.[name] !== uid);
  return {
    ...(Object.fromEntries(own) as AgentSettings),
    ...(servers.length > 0 && { mcpServers: Object.fromEntries(servers) }),
  };
}

export const settingsOf = ({ model, environmentId, workerHost, harness, mcpServers }: AgentSettings): AgentSettings =>
  defined({ model, environmentId, workerHost, harness, mcpServers });

/** As the configuration of a run; null where nothing is set. */
export function toAgentConfig(settings: AgentSettings): AgentConfig | null {
  const { harness, mcpServers } = settings;
  const config: AgentConfig = defined({
    model_id: settings.model,
    environment_id: settings.environmentId,
    worker_host: settings.workerHost,
    harness: harness === undefined ? undefined : { type: harness },
    mcp_servers: mcpServers && toServers(mcpServers),
  });
  return Object.keys(config).length === 0 ? null : config;
}

const defined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

export const toServers = (uids: Readonly<Record<string, string>>): Record<string, { warp_id: string }> =>
  Object.fromEntries(Object.entries(uids).map(([name, uid]) => [name, { warp_id: uid }]));

/** Of servers, those that are registered and nothing else: what files can name. */
export function fromServers(
  servers: Readonly<Record<string, { readonly warp_id?: string }>> | null | undefined,
): Pick<AgentSettings, 'mcpServers'> {
  const named = Object.entries(servers ?? {}).flatMap(([name, { warp_id: uid }]) =>
    uid === undefined ? [] : [[name, uid] as const],
  );
  return named.length === 0 ? {} : { mcpServers: Object.fromEntries(named) };
}

export const fromAgentConfig = (config: AgentConfig | null): AgentSettings =>
  settingsOf({
    model: config?.model_id,
    environmentId: config?.environment_id,
    workerHost: config?.worker_host,
    harness: config?.harness?.type,
    ...fromServers(config?.mcp_servers),
  });
