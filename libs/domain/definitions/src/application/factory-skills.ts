import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type FactorySkillFile, FactorySkills, type FactorySkillSource } from '#domain/agents';
import { FactoriesService } from '#domain/factories';
import { placeOf } from '../domain/files/layout.js';
import { DefinitionsStore } from '../persistence/definitions.store.js';

@Injectable()
export class StoredFactorySkills implements FactorySkillSource, OnModuleInit {
  constructor(
    private readonly store: DefinitionsStore,
    private readonly factories: FactoriesService,
    private readonly skills: FactorySkills,
  ) {}

  onModuleInit(): void {
    this.skills.register(this);
  }

  async filesOf(factoryUid: string, teamUid: string, agentUid: string | null): Promise<readonly FactorySkillFile[]> {
    const factory = await this.factories.find(factoryUid);
    if (factory?.teamUid !== teamUid) return [];
    const { agent, files } = await this.store.findSkills(factoryUid, agentUid);
    return files.flatMap(({ path, content }): FactorySkillFile[] => {
      const place = placeOf(path);
      if (place.kind !== 'skill') return [];
      if (place.agent === null) return [{ path, content, reach: 'common' }];
      return [{ path, content, reach: place.agent === agent ? 'own' : 'other' }];
    });
  }
}
