import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';

import { CompiledTriggers } from './application/compiled-triggers.js';
import { FireAutomations } from './application/fire-automations.js';
import { FiringSteps } from './application/firing-steps.js';
import { LaunchRun } from './application/launch-run.js';
import { FiringStore } from './persistence/firing.store.js';
import { TriggersModule } from './triggers.module.js';

/** Starting runs for events: for the processor, and for whoever else notices events. */
@Module({
  imports: [AuthModule, AgentsModule, RunsModule, TriggersModule],
  providers: [FiringStore, CompiledTriggers, LaunchRun, FiringSteps, FireAutomations],
  exports: [FireAutomations, FiringSteps, TriggersModule],
})
export class FiringModule {}
