import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AutomationsModule } from '#domain/automations';
import { FactoriesModule } from '#domain/factories';
import { RunsModule } from '#domain/runs';
import { WebhooksModule } from '#domain/webhooks';
import { AuthModule } from '#platform/auth';
import { AgentRules, AutomationRules, FactoryRules, LimitRules, WebhookRules } from './application/definition-rules.js';
import {
  ApplyDefinition,
  DefinitionReader,
  ExportDefinition,
  PlanDefinition,
  ValidateDefinition,
} from './application/definitions.service.js';
import { DispatchRun } from './application/dispatch-run.js';
import { StoredFactorySkills } from './application/factory-skills.js';
import { FactoryState } from './application/factory-state.js';
import { FindFactories } from './application/find-factories.js';
import { WriteAgents, WriteAutomations, WritePlan, WriteWebhooks } from './application/write-plan.js';
import { DefinitionController, FactoryFileSchemasController } from './http/definition.controller.js';
import { FactoryController } from './http/factory.controller.js';
import { DefinitionsStore, FactoryAgentsStore } from './persistence/definitions.store.js';

const USE_CASES = [ApplyDefinition, ValidateDefinition, ExportDefinition];

/** Factories as files: apply, validate and export. */
@Module({
  imports: [AgentsModule, AutomationsModule, FactoriesModule, WebhooksModule],
  providers: [
    DefinitionsStore,
    DefinitionReader,
    FactoryState,
    PlanDefinition,
    FactoryRules,
    WebhookRules,
    AgentRules,
    AutomationRules,
    LimitRules,
    WritePlan,
    WriteWebhooks,
    WriteAgents,
    WriteAutomations,
    ...USE_CASES,
  ],
  exports: USE_CASES,
})
export class DefinitionsModule {}

/** For every process that starts runs: without it no run finds the skills of its factory. */
@Module({ imports: [AgentsModule, FactoriesModule], providers: [DefinitionsStore, StoredFactorySkills] })
export class FactorySkillsModule {}

/** Definitions, the schemas of their files, and factories with the runs that are dispatched to them, over HTTP. */
@Module({
  imports: [
    AuthModule,
    AgentsModule,
    AutomationsModule,
    DefinitionsModule,
    FactoriesModule,
    FactorySkillsModule,
    RunsModule,
  ],
  providers: [FactoryAgentsStore, FindFactories, DispatchRun],
  controllers: [DefinitionController, FactoryController, FactoryFileSchemasController],
})
export class DefinitionsHttpModule {}
