import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { isUid } from '#platform/kernel';
import type { FoundSkill } from '../domain/found-skill.js';
import { parseSkill } from '../domain/parse-skill.js';

export interface FactorySkillFile {
  readonly path: string;
  readonly content: string;
  /** Of the agent that was asked for, of all agents of the factory, or of another one. */
  readonly reach: 'own' | 'common' | 'other';
}

export interface FactorySkillSource {
  /** As applied last. None where the factory is not the team's. `agentUid`: of the identity that executes the run. */
  filesOf(factoryUid: string, teamUid: string, agentUid: string | null): Promise<readonly FactorySkillFile[]>;
}

/** The library `definitions` registers itself here on module init; without it factories have no skills. */
@Injectable()
export class FactorySkills {
  private source: FactorySkillSource | undefined;

  register(source: FactorySkillSource): void {
    if (this.source !== undefined) throw new Error('FactorySkills has a source already.');
    this.source = source;
  }

  /**
   * The skills of the agent, then those of all agents, then those of others, which are found by their path only: an
   * agent's own skill takes the place of a common one of the same name.
   */
  async find(factoryUid: string, teamUid: string, agentUid: string | null): Promise<readonly FoundSkill[][]> {
    // Labels of runs may hold anything.
    const files = isUid(factoryUid) ? await this.source?.filesOf(factoryUid, teamUid, agentUid) : undefined;
    const shelves: Record<FactorySkillFile['reach'], FoundSkill[]> = { own: [], common: [], other: [] };
    for (const { path, content, reach } of files ?? []) {
      // Parsing takes a moment: others get their turn.
      await nextTurn();
      const bytes = Buffer.from(content);
      const oid = createHash('sha256').update(bytes).digest('hex');
      shelves[reach].push({ path, oid, parsed: parseSkill(bytes), listed: reach !== 'other' });
    }
    return [shelves.own, shelves.common, shelves.other];
  }
}
