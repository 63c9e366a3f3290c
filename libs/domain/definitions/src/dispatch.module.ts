import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { FactoriesModule } from '#domain/factories';
import { RunsModule } from '#domain/runs';
import { DispatchRun } from './application/dispatch-run.js';
import { FindFactories } from './application/find-factories.js';
import { FactorySkillsModule } from './factory-skills.module.js';
import { FactoryController } from './http/factory.controller.js';
import { FactoryAgentsStore } from './persistence/factory-agents.store.js';

/** Finding factories over HTTP, and giving them work. */
@Module({
  imports: [AuthModule, AgentsModule, FactoriesModule, FactorySkillsModule, RunsModule],
  providers: [FactoryAgentsStore, FindFactories, DispatchRun],
  controllers: [FactoryController],
})
export class DispatchModule {}
