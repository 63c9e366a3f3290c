import { Injectable } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { EvaluationNudge } from '../application/delivery-evaluator.js';
import { EVALUATE_DELIVERIES_TASK } from './webhook-jobs.js';

@Injectable()
export class QueueEvaluationNudge extends EvaluationNudge {
  constructor(private readonly tasks: BackgroundTasks) {
    super();
  }

  override nudge(): void {
    this.tasks.wake(EVALUATE_DELIVERIES_TASK);
  }
}
