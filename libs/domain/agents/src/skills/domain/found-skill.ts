import type { ParsedSkill } from './parse-skill.js';
import { bySkillPath, directoryName } from './skill-files.js';
import type { SkillQuery } from './skill-spec.js';

export interface FoundSkill {
  readonly path: string;
  /** Git's id of its content: equal ones say the same. */
  readonly oid: string;
  readonly parsed: ParsedSkill;
  /** Whether lists show it: one that lies elsewhere is found by its path only. */
  readonly listed: boolean;
}

export function nameOf({ path, parsed }: FoundSkill): string {
  return (parsed.kind === 'skill' ? parsed.name : null) ?? directoryName(path);
}

/**
 * Those that a query means, best first: the one at a path, else those of a name, else those in a directory of that name.
 * A name finds only what is listed; of equal content the first counts.
 */
export function findSkills(skills: readonly FoundSkill[], { paths, name }: SkillQuery): FoundSkill[] {
  const atPath = skills.find(({ path }) => paths.includes(path));
  if (atPath) return [atPath];
  const listed = skills.filter((skill) => skill.listed).sort((a, b) => bySkillPath(a.path, b.path));
  const named = listed.filter((skill) => skill.parsed.kind === 'skill' && nameOf(skill) === name);
  const matches = named.length > 0 ? named : listed.filter(({ path }) => directoryName(path) === name);
  return matches.filter(({ oid }, index) => matches.findIndex((other) => other.oid === oid) === index);
}

export interface SkillOccurrence {
  readonly owner: string;
  readonly repo: string;
  /** Where it was found; absent: in the repository itself. */
  readonly workerHost?: string;
  readonly skill: FoundSkill;
  /** Of the caller, that have the repository. */
  readonly environments: readonly { readonly uid: string; readonly name: string }[];
}

export interface SkillVariant extends SkillOccurrence {
  /** `owner/repo:path/to/SKILL.md` */
  readonly id: string;
}

export interface SkillGroup {
  readonly name: string;
  /** By repository, then as the ten directories are ordered. */
  readonly variants: readonly SkillVariant[];
}

/** What several environments have of one repository is one variant, unless its content differs between their refs. */
export function groupSkills(occurrences: Iterable<SkillOccurrence>): SkillGroup[] {
  const variants = new Map<string, SkillVariant>();
  for (const occurrence of occurrences) {
    const id = idOf(occurrence);
    const key = `${occurrence.skill.oid} ${id}`;
    const known = variants.get(key);
    const environments = [...(known?.environments ?? []), ...occurrence.environments];
    variants.set(key, { ...(known ?? { ...occurrence, id }), environments: distinct(environments) });
  }
  const groups = new Map<string, SkillVariant[]>();
  for (const variant of variants.values()) {
    const name = nameOf(variant.skill);
    const group = groups.get(name);
    if (group) group.push(variant);
    else groups.set(name, [variant]);
  }
  return [...groups]
    .map(([name, group]) => ({ name, variants: group.sort(byPlace) }))
    .sort((a, b) => byText(a.name, b.name));
}

export function idOf({ owner, repo, skill }: Pick<SkillOccurrence, 'owner' | 'repo' | 'skill'>): string {
  return `${owner}/${repo}:${skill.path}`;
}

/** Those that ran last first; those that never did last, by name. */
export function byLastRun(groups: readonly SkillGroup[], lastRuns: ReadonlyMap<string, Date>): SkillGroup[] {
  const latest = (group: SkillGroup): number =>
    group.variants.reduce((last, { id }) => Math.max(last, lastRuns.get(id)?.getTime() ?? -Infinity), -Infinity);
  return groups
    .map((group) => ({ group, at: latest(group) }))
    .sort((a, b) => (a.at === b.at ? byText(a.group.name, b.group.name) : b.at - a.at))
    .map(({ group }) => group);
}

function byPlace(a: SkillVariant, b: SkillVariant): number {
  const byRepository = byText(`${a.owner}/${a.repo}`, `${b.owner}/${b.repo}`);
  if (byRepository !== 0) return byRepository;
  const byPath = bySkillPath(a.skill.path, b.skill.path);
  return byPath === 0 ? (a.skill.oid < b.skill.oid ? -1 : 1) : byPath;
}

/** Whatever the case, as far as that decides. */
function byText(a: string, b: string): number {
  const [left, right] = [a.toLowerCase(), b.toLowerCase()];
  if (left !== right) return left < right ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function distinct(environments: SkillOccurrence['environments']): SkillOccurrence['environments'] {
  return environments.filter(({ uid }, index) => environments.findIndex((other) => other.uid === uid) === index);
}
