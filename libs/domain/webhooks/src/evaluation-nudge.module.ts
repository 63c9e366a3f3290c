import { Module } from '@nestjs/common';
import { EvaluationNudge } from './application/ports.js';
import { QueueEvaluationNudge } from './jobs/queue-evaluation-nudge.js';

/** For every process that accepts deliveries. Needs `JobsModule`. */
@Module({
  providers: [{ provide: EvaluationNudge, useClass: QueueEvaluationNudge }],
  exports: [EvaluationNudge],
})
export class EvaluationNudgeModule {}
