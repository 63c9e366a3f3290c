import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { FactoriesModule } from '#domain/factories';
import { RunsModule } from '#domain/runs';
import { AutomationChecks } from './application/automation-checks.js';
import { AutomationWrites } from './application/automation-writes.js';
import { CreateAutomation } from './application/create-automation.js';
import { DefinedAutomations } from './application/defined-automations.js';
import { DeleteAutomation } from './application/delete-automation.js';
import { FindAutomations } from './application/find-automations.js';
import { ReplaceAutomation } from './application/replace-automation.js';
import { TestTrigger } from './application/test-trigger.js';
import { TriggerChecks } from './application/trigger-checks.js';
import { TriggerObstacles } from './application/trigger-obstacles.js';
import { AutomationPlaces } from './persistence/automation-places.js';
import { AutomationsStore } from './persistence/automations.store.js';
import { TriggersModule } from './triggers.module.js';

const USE_CASES = [
  FindAutomations,
  CreateAutomation,
  ReplaceAutomation,
  DeleteAutomation,
  TestTrigger,
  DefinedAutomations,
];

/** Automations as they are kept, and the kinds of events that start them. */
@Module({
  imports: [TriggersModule, FactoriesModule, AgentsModule, RunsModule],
  providers: [
    AutomationsStore,
    AutomationPlaces,
    AutomationWrites,
    AutomationChecks,
    TriggerChecks,
    TriggerObstacles,
    ...USE_CASES,
  ],
  exports: [TriggersModule, ...USE_CASES],
})
export class AutomationsModule {}
