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

/** A resource of the definition that exists, besides the factory and skills. */
export interface PresentResource {
  readonly kind: ResourceKind;
  readonly name: string;
  /** Null: a skill. */
  readonly uid: string | null;
  readonly shape: Shape;
  /** What differs from any file, beside what the shape says. */
  readonly changes: readonly string[];
}

/** There is one factory, whatever its name is. */
export const FACTORY_KEY = appliedKey('factory', '');

export function presentResources(present: PresentState): PresentResource[] {
  const { webhooks, agents, automations } = present;
  return [
    ...webhooks
      .filter(({ source }) => source === 'definition')
      .map((webhook): PresentResource => {
        const { name, uid, secretVersion, managedSecretVersion } = webhook;
        // A newer version of the managed secret is a change that files do not show.
        const isStale = managedSecretVersion !== null && managedSecretVersion !== secretVersion;
        const changes = isStale ? ['secretVersion'] : [];
        return { kind: 'webhook', name, uid, shape: webhookShape(webhook), changes };
      }),
    ...agents.map(({ name, identity }): PresentResource => {
      return { kind: 'agent', name, uid: identity.uid, shape: agentShape(identity), changes: [] };
    }),
    ...automations.map((fields): PresentResource => {
      const shape = automationShape({ fields, agent: agentOf(present, fields.agentIdentityUid) });
      return { kind: 'automation', name: fields.name, uid: fields.uid, shape, changes: [] };
    }),
  ];
}

/** Keys of the resources that exist and are what was applied. */
export function untouched(present: PresentState): ReadonlySet<string> {
  const shapes = presentResources(present).map(({ kind, name, shape }) => [appliedKey(kind, name), shape] as const);
  const { fingerprints } = present.applied;
  return new Set(
    [[FACTORY_KEY, factoryShape(present.factory)] as const, ...shapes].flatMap(([key, shape]) =>
      fingerprints.get(key) === fingerprint(shape) ? [key] : [],
    ),
  );
}
