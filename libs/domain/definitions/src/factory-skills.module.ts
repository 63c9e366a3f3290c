import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { FactoriesModule } from '#domain/factories';
import { StoredFactorySkills } from './application/factory-skills.js';
import { DefinitionsStore } from './persistence/definitions.store.js';

/** For every process that starts runs: without it no run finds the skills of its factory. */
@Module({ imports: [AgentsModule, FactoriesModule], providers: [DefinitionsStore, StoredFactorySkills] })
export class FactorySkillsModule {}
