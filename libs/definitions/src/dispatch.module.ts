import { Module } from '@nestjs/common';
import { AgentsModule } from '#libs/agents';
import { AuthModule } from '#libs/auth';
import { FactoriesModule } from '#libs/factories';
import { RunsModule } from '#libs/runs';
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
