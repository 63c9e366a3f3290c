import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { EvaluationPump } from './jobs/evaluation-pump.js';
import { EVALUATE_DELIVERIES_JOB } from './jobs/webhook-jobs.js';
import { WebhooksProcessor } from './jobs/webhooks.processor.js';
import { WebhookEvaluationModule } from './webhook-evaluation.module.js';

/** For the processor: evaluates and prunes deliveries. */
@Module({
  imports: [WebhookEvaluationModule, BullModule.registerQueue({ name: EVALUATE_DELIVERIES_JOB.queue })],
  providers: [EvaluationPump, WebhooksProcessor],
})
export class WebhooksJobsModule {}
