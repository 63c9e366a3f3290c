import { Module } from '@nestjs/common';
import { EvaluationLoop } from './jobs/evaluation-loop.js';
import { WebhookEvaluationModule } from './webhook-evaluation.module.js';

/** The room's background work, for the processor: evaluating and pruning. */
@Module({
  imports: [WebhookEvaluationModule],
  providers: [EvaluationLoop],
})
export class WebhooksJobsModule {}
