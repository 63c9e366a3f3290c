import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { EvaluationNudge } from './application/delivery-evaluator.js';
import { QueueEvaluationNudge } from './jobs/queue-evaluation-nudge.js';
import { EVALUATE_DELIVERIES_JOB } from './jobs/webhook-jobs.js';

/** For every process that accepts or redelivers deliveries. Needs `JobsModule`. */
@Module({
  imports: [BullModule.registerQueue({ name: EVALUATE_DELIVERIES_JOB.queue })],
  providers: [{ provide: EvaluationNudge, useClass: QueueEvaluationNudge }],
  exports: [EvaluationNudge],
})
export class EvaluationNudgeModule {}
