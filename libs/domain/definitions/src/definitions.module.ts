import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AutomationsModule } from '#domain/automations';
import { FactoriesModule } from '#domain/factories';
import { WebhooksModule } from '#domain/webhooks';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { FactoryFileSchemasController } from './http/factory-file-schemas.controller.js';
import { FactoryController } from './http/factory.controller.js';
import { DefinitionController } from './http/definition.controller.js';
import { FactoryAgentsStore } from './persistence/factory-agents.store.js';
import { FindFactories } from './application/find-factories.js';
import { DispatchRun } from './application/dispatch-run.js';
import { StoredFactorySkills } from './application/factory-skills.js';
import { AgentRules } from './application/agent-rules.js';
import { ApplyDefinition } from './application/apply-definition.js';
import { AutomationRules } from './application/automation-rules.js';
import { DefinitionReader } from './application/definition-reader.js';
import { ExportDefinition } from './application/export-definition.js';
import { FactoryRules } from './application/factory-rules.js';
import { FactoryState } from './application/factory-state.js';
import { LimitRules } from './application/limit-rules.js';
import { PlanDefinition } from './application/plan-definition.js';
import { ValidateDefinition } from './application/validate-definition.js';
import { WebhookRules } from './application/webhook-rules.js';
import { WriteAgents } from './application/write-agents.js';
import { WriteAutomations } from './application/write-automations.js';
import { WritePlan } from './application/write-plan.js';
import { WriteWebhooks } from './application/write-webhooks.js';
import { DefinitionsStore } from './persistence/definitions.store.js';

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
