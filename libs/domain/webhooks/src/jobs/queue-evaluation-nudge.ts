import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { CoalescedNudges } from '#platform/jobs';
import { EvaluationNudge } from '../application/delivery-evaluator.js';
import { EVALUATE_DELIVERIES_JOB } from './webhook-jobs.js';

const COALESCE_MS = 50;

@Injectable()
export class QueueEvaluationNudge extends EvaluationNudge implements OnModuleDestroy {
  private readonly nudges: CoalescedNudges;

  constructor(@InjectQueue(EVALUATE_DELIVERIES_JOB.queue) queue: Queue) {
    super();
    this.nudges = new CoalescedNudges(queue, EVALUATE_DELIVERIES_JOB, COALESCE_MS);
  }

  override nudge(): void {
    this.nudges.nudge();
  }

  onModuleDestroy(): Promise<void> {
    return this.nudges.close();
  }
}
