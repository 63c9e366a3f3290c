import { Injectable } from '@nestjs/common';
import type { SkillRepository, SkillSource } from './skill-source.js';

/** The sources of this process; the one that was registered last is asked first. */
@Injectable()
export class SkillSources {
  private readonly sources: SkillSource[] = [];

  /** Throws when there is one of this id. */
  register(source: SkillSource): void {
    if (this.sources.some(({ id }) => id === source.id)) throw new Error(`There are two skill sources ${source.id}.`);
    this.sources.unshift(source);
  }

  find(repository: SkillRepository): SkillSource | null {
    return this.sources.find((source) => source.reads(repository)) ?? null;
  }
}
