import { Module } from '@nestjs/common';
import { GetDelivery } from './application/get-delivery.js';
import { ListDeliveries } from './application/list-deliveries.js';
import { RedeliverDelivery } from './application/redeliver-delivery.js';
import { EvaluationNudgeModule } from './evaluation-nudge.module.js';
import { DeliveryLogController } from './http/deliveries.controller.js';
import { DeliveriesStore } from './persistence/deliveries.store.js';
import { RedeliveriesStore } from './persistence/redeliveries.store.js';
import { WebhookAccessModule } from './webhook-access.module.js';

/** The delivery log, as the API serves it. */
@Module({
  imports: [WebhookAccessModule, EvaluationNudgeModule],
  providers: [DeliveriesStore, RedeliveriesStore, ListDeliveries, GetDelivery, RedeliverDelivery],
  controllers: [DeliveryLogController],
})
export class DeliveryLogModule {}
