import type { ResourceKind } from '../definition.js';

export type Place =
  | { readonly kind: 'factory' }
  | { readonly kind: 'webhook' | 'automation' | 'agent'; readonly name: string }
  /** `agent`: whose it is; null for those of all agents. */
  | { readonly kind: 'skill'; readonly agent: string | null }
  | { readonly kind: 'misplaced'; readonly code: 'unexpected_file' | 'invalid_name'; readonly message: string };

/** No upper case: two names never differ in that alone, on no disk and in no list. */
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/;
const NAME_RULE =
  'Names have 1 to 63 lower-case letters, digits, dots, underscores and hyphens, a letter or digit first and last.';
/** Directories of skills belong to their authors; what is hidden does not belong here. */
const SKILL_DIRECTORY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const LAYOUT =
  'No file of a definition stands here: there are factory.yaml, webhooks/<name>.yaml, automations/<name>/automation.md, agents/<name>/agent.md, skills/<name>/SKILL.md and agents/<name>/skills/<name>/SKILL.md.';

const NAMED = [
  { kind: 'webhook', path: /^webhooks\/([^/]*)\.yaml$/ },
  { kind: 'automation', path: /^automations\/([^/]*)\/automation\.md$/ },
  { kind: 'agent', path: /^agents\/([^/]*)\/agent\.md$/ },
] as const;

/** Where a file with a safe path belongs. */
export function placeOf(path: string): Place {
  return expectedPlace(path) ?? misplaced('unexpected_file', hint(path) ?? LAYOUT);
}

/** undefined for what looks like nothing that is expected. */
function expectedPlace(path: string): Place | undefined {
  if (path === FACTORY_PATH) return { kind: 'factory' };
  for (const { kind, path: pattern } of NAMED) {
    const name = pattern.exec(path)?.[1];
    if (name !== undefined) return NAME.test(name) ? { kind, name } : misplaced('invalid_name', NAME_RULE);
  }
  return skillPlace(path);
}

function skillPlace(path: string): Place | undefined {
  const match = /^(?:agents\/([^/]*)\/)?skills\/((?:[^/]+\/)*)SKILL\.md$/.exec(path);
  if (!match) return undefined;
  const [, agent, below = ''] = match;
  if (agent !== undefined && !NAME.test(agent)) return misplaced('invalid_name', NAME_RULE);
  const directories = below.split('/').slice(0, -1);
  if (directories.length === 0)
    return misplaced('unexpected_file', 'A skill needs a separate directory: skills/<name>/SKILL.md.');
  const isOurs = (name: string): boolean => SKILL_DIRECTORY.test(name) && name.toLowerCase() !== 'skill.md';
  if (!directories.every(isOurs))
    return misplaced(
      'invalid_name',
      'Directories of skills have 1 to 128 letters, digits, dots, underscores and hyphens, a letter or digit first.',
    );
  return { kind: 'skill', agent: agent ?? null };
}

function hint(path: string): string | undefined {
  const renamed = path.replace(/\.yml$/i, '.yaml');
  if (renamed !== path) {
    return isPlaced(renamed)
      ? `Files end in .yaml here: rename it to ${renamed}.`
      : 'Files end in .yaml here, and not in .yml.';
  }
  const [lowered, skill] = [path.toLowerCase(), path.replace(/\/skill\.md$/i, '/SKILL.md')];
  const meant = [skill, lowered].find((other) => other !== path && isPlaced(other));
  return meant === undefined ? undefined : `Upper and lower case matter: did you mean ${meant}?`;
}

function isPlaced(path: string): boolean {
  const place = expectedPlace(path);
  return place !== undefined && place.kind !== 'misplaced';
}

const misplaced = (code: 'unexpected_file' | 'invalid_name', message: string): Place => ({
  kind: 'misplaced',
  code,
  message,
});

export const FACTORY_PATH = 'factory.yaml';

/** Where a resource of this name stands. Skills are called by their paths. */
export function resourcePath(kind: ResourceKind, name: string): string {
  switch (kind) {
    case 'factory':
      return FACTORY_PATH;
    case 'webhook':
      return `webhooks/${name}.yaml`;
    case 'agent':
      return `agents/${name}/agent.md`;
    case 'automation':
      return `automations/${name}/automation.md`;
    case 'skill':
      return name;
  }
}

export const isSkillPath = (path: string): boolean => /^(?:agents\/[^/]+\/)?skills\//.test(path);
