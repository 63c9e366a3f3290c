import { Module } from '@nestjs/common';
import { WebhookEvaluationModule } from '#libs/webhooks';
import { DeliveryAutomations } from './adapters/delivery-automations.js';
import { FiringModule } from './firing.module.js';

/** The room's background work, for the processor: deliveries start automations. */
@Module({ imports: [WebhookEvaluationModule, FiringModule], providers: [DeliveryAutomations] })
export class AutomationsJobsModule {}
