import type { ParsedSkill } from './parse-skill.js';
import type { SkillQuery } from './skill-spec.js';
import { bySkillPath, directoryName } from './skill-path.js';

/** A SKILL.md of one state of a repository. */
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
