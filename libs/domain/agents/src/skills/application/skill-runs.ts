import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';

/** Finds when skills last ran; implemented by a library above this one. */
export interface SkillRunSource {
  /** When runs that the caller may see last used these skills (ids as in `Skill.id`), in one round trip. Never used: left out. */
  lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>>;
}

/** The library `runs` registers itself here on module init; without it no skill has a last run. */
@Injectable()
export class SkillRuns implements SkillRunSource {
  private source: SkillRunSource | undefined;

  /** Throws at a second one. */
  register(source: SkillRunSource): void {
    if (this.source !== undefined) throw new Error('SkillRuns has a source already.');
    this.source = source;
  }

  async lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    if (this.source === undefined || skillIds.length === 0) return new Map();
    return this.source.lastRuns(caller, skillIds);
  }
}
