import { Module } from '@nestjs/common';
import { FactoriesModule } from '#domain/factories';
import { TimersModule } from '#platform/timers';
import { WebhookEvaluationModule } from '#domain/webhooks';
import { AutomationTimer } from './adapters/automation-timer.js';
import { DeliveryAutomations } from './adapters/delivery-automations.js';
import { FiringModule } from './firing.module.js';

/** The room's background work, for the processor: deliveries and due times start automations. */
@Module({
  imports: [WebhookEvaluationModule, TimersModule, FactoriesModule, FiringModule],
  providers: [DeliveryAutomations, AutomationTimer],
})
export class AutomationsJobsModule {}
