import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { EvaluationPump } from './jobs/evaluation-pump.js';
import { EVALUATE_DELIVERIES_JOB } from './jobs/webhook-jobs.js';
import { WebhooksProcessor } from './jobs/webhooks.processor.js';
import { WebhookEvaluationModule } from './webhook-evaluation.module.js';

/** The room's background work, for the processor: evaluating and pruning. */
@Module({
  imports: [WebhookEvaluationModule, BullModule.registerQueue({ name: EVALUATE_DELIVERIES_JOB.queue })],
  providers: [EvaluationPump, WebhooksProcessor],
})
export class WebhooksJobsModule {}
