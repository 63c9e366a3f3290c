import { fingerprint, type Shape } from './fingerprint.js';
import { agentOf, appliedKey, type PresentState } from './present-state.js';
import { agentShape, automationShape, factoryShape, webhookShape } from './shapes.js';

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
