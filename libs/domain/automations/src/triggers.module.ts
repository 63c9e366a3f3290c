import { Module } from '@nestjs/common';
import { TimersModule } from '#domain/schedules';
import { WebhooksModule } from '#domain/webhooks';
import { ScheduleTrigger } from './adapters/schedule-trigger.js';
import { WebhookTrigger } from './adapters/webhook-trigger.js';
import { TriggerProviders } from './application/trigger-providers.js';

/** The kinds of triggers. Who brings another one imports this, and registers it with `TriggerProviders`. */
@Module({
  imports: [WebhooksModule, TimersModule],
  providers: [TriggerProviders, WebhookTrigger, ScheduleTrigger],
  exports: [TriggerProviders, WebhookTrigger, ScheduleTrigger],
})
export class TriggersModule {}
