import type { DefinedIdentity } from '#domain/agents';
import type { Automation } from '#domain/automations';
import type { DefinedWebhook } from '#domain/webhooks';
import type { AgentSettings, DefinitionFile, FactorySpec, ResourceKind } from './definition.js';
import { agentShape, automationShape, factoryShape, fingerprint, type Shape, webhookShape } from './fingerprint.js';

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

/** Something that files define and that is there. */
export interface PresentResource {
  readonly name: string;
  readonly uid: string;
  readonly shape: Shape;
  /** What differs from any file, beside what the shape says. */
  readonly changes: readonly string[];
}

/** The factory is the one of its kind, whatever its name is. */
export const FACTORY_KEY = appliedKey('factory', '');

/** A newer version of the managed secret is a change that files do not show. */
export const presentWebhooks = ({ webhooks }: PresentState): PresentResource[] =>
  webhooks
    .filter(({ source }) => source === 'definition')
    .map((webhook) => {
      const { name, uid, secretVersion, managedSecretVersion } = webhook;
      const isStale = managedSecretVersion !== null && managedSecretVersion !== secretVersion;
      return { name, uid, shape: webhookShape(webhook), changes: isStale ? ['secretVersion'] : [] };
    });

export const presentAgents = ({ agents }: PresentState): PresentResource[] =>
  agents.map(({ name, identity }) => ({ name, uid: identity.uid, shape: agentShape(identity), changes: [] }));

export const presentAutomations = (present: PresentState): PresentResource[] =>
  present.automations.map((fields) => ({
    name: fields.name,
    uid: fields.uid,
    shape: automationShape({ fields, agent: agentOf(present, fields.agentIdentityUid) }),
    changes: [],
  }));

/** Keys of the resources that are there and are what was applied. */
export function untouched(present: PresentState): ReadonlySet<string> {
  const shapes: readonly (readonly [string, Shape])[] = [
    [FACTORY_KEY, factoryShape(present.factory)],
    ...presentWebhooks(present).map(({ name, shape }) => [appliedKey('webhook', name), shape] as const),
    ...presentAgents(present).map(({ name, shape }) => [appliedKey('agent', name), shape] as const),
    ...presentAutomations(present).map(({ name, shape }) => [appliedKey('automation', name), shape] as const),
  ];
  const { fingerprints } = present.applied;
  return new Set(shapes.flatMap(([key, shape]) => (fingerprints.get(key) === fingerprint(shape) ? [key] : [])));
}
