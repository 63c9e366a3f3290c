import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AnswersModule } from '#domain/answers';
import { AuthModule } from '#platform/auth';
import { EnvironmentsModule } from '#domain/environments';
import { FactoriesModule } from '#domain/factories';
import { RunsModule } from '#domain/runs';
import { TimersModule } from '#platform/timers';
import { WebhooksModule } from '#domain/webhooks';
import { AutomationTimer } from './adapters/automation-timer.js';
import { GithubInstallations } from './adapters/github-installations.js';
import { PullRequestStates } from './adapters/pull-request-states.js';
import { ScheduleTrigger } from './adapters/schedule-trigger.js';
import { DeliveryAutomations } from './adapters/delivery-automations.js';
import { ForgeDeliveries, ForgeTriggers } from './adapters/forge-trigger.js';
import { SlackCommandResponses } from './adapters/slack-command-responses.js';
import { SlackInteractions } from './adapters/slack-interactions.js';
import { SlackDeliveries, SlackTriggers } from './adapters/slack-trigger.js';
import { WebhookTrigger } from './adapters/webhook-trigger.js';
import { AutomationChecks } from './application/automation-checks.js';
import { AutomationWrites } from './application/automation-writes.js';
import { AutomationsService } from './application/automations.service.js';
import { DefinedAutomations } from './application/defined-automations.js';
import { FireAutomations } from './application/fire-automations.js';
import { LaunchRun } from './application/launch-run.js';
import { TestTrigger } from './application/test-trigger.js';
import { TriggerProviders } from './application/trigger-providers.js';
import { AutomationsController } from './http/automations.controller.js';
import { AutomationsStore } from './persistence/automations.store.js';
import { FiringStore } from './persistence/firing.store.js';

/** Automations, their kinds of triggers, and the firing of events. A library with another kind of trigger imports it. */
@Module({
  imports: [AuthModule, AgentsModule, AnswersModule, FactoriesModule, RunsModule, WebhooksModule, TimersModule],
  providers: [
    AutomationsStore,
    FiringStore,
    TriggerProviders,
    WebhookTrigger,
    ScheduleTrigger,
    ForgeDeliveries,
    ForgeTriggers,
    SlackDeliveries,
    SlackTriggers,
    AutomationChecks,
    AutomationWrites,
    AutomationsService,
    DefinedAutomations,
    TestTrigger,
    LaunchRun,
    FireAutomations,
  ],
  exports: [
    TriggerProviders,
    WebhookTrigger,
    ScheduleTrigger,
    ForgeDeliveries,
    SlackDeliveries,
    AutomationsStore,
    AutomationsService,
    DefinedAutomations,
    TestTrigger,
    FireAutomations,
  ],
})
export class AutomationsModule {}

@Module({ imports: [AutomationsModule, AuthModule, FactoriesModule], controllers: [AutomationsController] })
export class AutomationsHttpModule {}

/** For the processor: deliveries and due times start automations. */
@Module({
  imports: [
    WebhooksModule,
    TimersModule,
    FactoriesModule,
    RunsModule,
    AnswersModule,
    AutomationsModule,
    EnvironmentsModule,
  ],
  providers: [
    DeliveryAutomations,
    SlackCommandResponses,
    PullRequestStates,
    GithubInstallations,
    SlackInteractions,
    AutomationTimer,
  ],
})
export class AutomationsJobsModule {}
