import type { FoundSkill } from '../domain/found-skill.js';

export const BUNDLED_OWNER = 'headrace';
export const BUNDLED_NAME = 'bundled';

/** The skills that ship with Headrace, as `headrace/bundled`; paths are `<id>/SKILL.md`. They change with a release only. */
export abstract class BundledSkills {
  abstract readonly skills: readonly FoundSkill[];
}

export function isBundled(owner: string, name: string): boolean {
  return owner.toLowerCase() === BUNDLED_OWNER && name.toLowerCase() === BUNDLED_NAME;
}
