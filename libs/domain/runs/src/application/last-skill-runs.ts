import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SkillRuns, type SkillRunSource } from '#domain/agents';
import type { Caller } from '#platform/auth';
import { SkillRunsStore } from '../persistence/skill-runs.store.js';
import { ownersOf } from './list-runs.js';

/** Specs looked up at a time; what is behind them has, so far as one is told, never run. */
const MAX_SPECS = 5000;

/** Tells the room of agents when its skills last ran, among the runs that a list would show the caller. */
@Injectable()
export class LastSkillRuns implements SkillRunSource, OnModuleInit {
  constructor(
    private readonly store: SkillRunsStore,
    private readonly skillRuns: SkillRuns,
  ) {}

  onModuleInit(): void {
    this.skillRuns.register(this);
  }

  async lastRuns(caller: Caller, skillIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const owners = ownersOf(caller);
    const specs = [...new Set(skillIds)].slice(0, MAX_SPECS);
    return owners.length === 0 || specs.length === 0 ? new Map() : this.store.lastRuns(owners, specs);
  }
}
