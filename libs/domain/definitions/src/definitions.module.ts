import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AutomationsModule } from '#domain/automations';
import { FactoriesModule } from '#domain/factories';
import { RunsModule } from '#domain/runs';
import { WebhooksModule } from '#domain/webhooks';
import { AuthModule } from '#platform/auth';
import { DefinitionRules } from './application/definition-rules.js';
import { DefinitionsService } from './application/definitions.service.js';
import { FactoryRunsService } from './application/factory-runs.service.js';
import { ManageFactories } from './application/manage-factories.js';
import { StoredFactorySkills } from './application/factory-skills.js';
import { WritePlan } from './application/write-plan.js';
import { DefinitionController } from './http/definition.controller.js';
import { FactoryController } from './http/factory.controller.js';
import { FactoryFilesController } from './http/factory-files.controller.js';
import { DefinitionsStore } from './persistence/definitions.store.js';

/** For every process that starts runs: without it no run finds the skills of its factory. */
@Module({
  imports: [AgentsModule, FactoriesModule],
  providers: [DefinitionsStore, StoredFactorySkills],
  exports: [DefinitionsStore],
})
export class FactorySkillsModule {}

@Module({
  imports: [
    AuthModule,
    AgentsModule,
    AutomationsModule,
    FactoriesModule,
    FactorySkillsModule,
    RunsModule,
    WebhooksModule,
  ],
  providers: [DefinitionRules, WritePlan, DefinitionsService, FactoryRunsService, ManageFactories],
  controllers: [DefinitionController, FactoryController, FactoryFilesController],
})
export class DefinitionsHttpModule {}
