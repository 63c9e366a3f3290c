import type { DefinedIdentity } from '#domain/agents';
import type { Automation } from '#domain/automations';
import type { DefinedWebhook } from '#domain/webhooks';
import type { AgentSettings, DefinitionFile, FactorySpec, ResourceKind } from './definition.js';

/** What an apply leaves behind, beside the resources themselves. */
export interface AppliedDefinition {
  readonly agentDefaults: AgentSettings;
  /** As they came, by path. */
  readonly files: readonly DefinitionFile[];
  /** Identities of its agents, by the agents' names. */
  readonly agents: ReadonlyMap<string, string>;
  /** What resources were then, by {@link appliedKey}. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

export const NOTHING_APPLIED: AppliedDefinition = {
  agentDefaults: {},
  files: [],
  agents: new Map(),
  fingerprints: new Map(),
};

/** An agent of the last apply whose identity is still there. */
export interface PresentAgent {
  /** In the files. */
  readonly name: string;
  readonly identity: DefinedIdentity;
}

/** What there is of a factory now, and what was applied last. */
export interface PresentState {
  readonly factory: FactorySpec;
  /** Of both sources. */
  readonly webhooks: readonly DefinedWebhook[];
  readonly agents: readonly PresentAgent[];
  /** Of definitions. */
  readonly automations: readonly Automation[];
  readonly applied: AppliedDefinition;
}

export const appliedKey = (kind: ResourceKind, name: string): string => `${kind}/${name}`;

/** The agent's name in the files; the uid itself where it is none of them. */
export function agentOf({ agents }: Pick<PresentState, 'agents'>, identityUid: string | null): string | null {
  return agents.find(({ identity }) => identity.uid === identityUid)?.name ?? identityUid;
}
