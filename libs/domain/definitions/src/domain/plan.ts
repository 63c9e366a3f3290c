import type { PlanEntry, ResourceKind } from './definition.js';
import type { DesiredState } from './desired-state.js';
import { FACTORY_PATH, isSkillPath, resourcePath } from './files/layout.js';
import {
  agentShape,
  automationShape,
  differences,
  factoryShape,
  fingerprint,
  type Shape,
  webhookShape,
} from './fingerprint.js';
import { appliedKey, FACTORY_KEY, type PresentResource, presentResources, type PresentState } from './present-state.js';

/** The factory, then webhooks, agents, automations and skills, each by their names. */
export function planDefinition(factoryUid: string, desired: DesiredState, present: PresentState): PlanEntry[] {
  const there = presentResources(present);
  const skills = new Map(desired.skills.map(({ path, content }) => [path, { content }]));
  return [
    planFactory(factoryUid, desired, present),
    ...desiredShapes(desired).flatMap(([kind, shapes]) => planAll(kind, shapes, there, present)),
    ...planAll('skill', skills, presentSkills(present), present),
  ];
}

export const desiredFingerprints = (desired: DesiredState): Map<string, string> =>
  new Map([
    [FACTORY_KEY, fingerprint(factoryShape(desired.factory))],
    ...desiredShapes(desired).flatMap(([kind, shapes]) =>
      [...shapes].map(([name, shape]) => [appliedKey(kind, name), fingerprint(shape)] as const),
    ),
  ]);

const desiredShapes = ({ webhooks, agents, automations }: DesiredState) =>
  [
    ['webhook', shapesOf(webhooks, webhookShape)],
    ['agent', shapesOf(agents, agentShape)],
    ['automation', shapesOf(automations, automationShape)],
  ] as const;

function planFactory(uid: string, desired: DesiredState, { factory, applied }: PresentState): PlanEntry {
  const present = factoryShape(factory);
  const changes = differences(factoryShape(desired.factory), present);
  return {
    action: changes.length === 0 ? 'unchanged' : 'update',
    kind: 'factory',
    name: desired.factory.name,
    path: FACTORY_PATH,
    uid,
    changes,
    drifted: hasDrifted(applied.fingerprints.get(FACTORY_KEY), present),
  };
}

function planAll(
  kind: ResourceKind,
  desired: ReadonlyMap<string, Shape>,
  present: readonly PresentResource[],
  { applied }: PresentState,
): PlanEntry[] {
  const there = new Map(present.filter((one) => one.kind === kind).map((resource) => [resource.name, resource]));
  return namesOf(desired, there).map((name) => {
    const [wanted, found] = [desired.get(name), there.get(name)];
    const drifted = hasDrifted(applied.fingerprints.get(appliedKey(kind, name)), found?.shape);
    const entry = { kind, name, path: resourcePath(kind, name), uid: found?.uid ?? null, changes: [], drifted };
    if (wanted === undefined) return { ...entry, action: 'delete', path: null };
    if (found === undefined) return { ...entry, action: 'create' };
    const changes = [...differences(wanted, found.shape), ...found.changes];
    return changes.length === 0 ? { ...entry, action: 'unchanged' } : { ...entry, action: 'update', changes };
  });
}

/** They are nothing but their files, so that they cannot drift. */
const presentSkills = ({ applied }: PresentState): PresentResource[] =>
  applied.files.flatMap(({ path, content }) =>
    isSkillPath(path) ? [{ kind: 'skill', name: path, uid: null, shape: { content }, changes: [] }] : [],
  );

const hasDrifted = (applied: string | undefined, present: Shape | undefined): boolean =>
  applied !== undefined && (present === undefined || fingerprint(present) !== applied);

const shapesOf = <T>(resources: ReadonlyMap<string, T>, shapeOf: (resource: T) => Shape): Map<string, Shape> =>
  new Map([...resources].map(([name, resource]) => [name, shapeOf(resource)]));

const namesOf = (desired: ReadonlyMap<string, unknown>, present: ReadonlyMap<string, unknown>): string[] =>
  [...new Set([...desired.keys(), ...present.keys()])].sort((one, other) => (one < other ? -1 : 1));
