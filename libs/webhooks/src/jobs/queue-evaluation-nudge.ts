import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { EvaluationNudge } from '../application/ports.js';
import { EVALUATE_DELIVERIES_JOB } from './webhook-jobs.js';

/** One job in this time, however many deliveries come: adding a job notifies, and notifying commits queue up. */
const COALESCE_MS = 50;

/** Coalesced nudges over the queue. A lost one costs the poll interval, so a fault is logged and forgotten. */
@Injectable()
export class QueueEvaluationNudge extends EvaluationNudge implements OnModuleDestroy {
  private readonly logger = new Logger(QueueEvaluationNudge.name);
  private timer: NodeJS.Timeout | null = null;
  private adding: Promise<unknown> | null = null;
  private isOver = false;

  constructor(@InjectQueue(EVALUATE_DELIVERIES_JOB.queue) private readonly queue: Queue) {
    super();
    queue.on('error', (error) => this.logger.warn(`The webhooks queue reports: ${error.message}`));
  }

  override nudge(): void {
    if (!this.isOver) this.timer ??= setTimeout(() => this.send(), COALESCE_MS);
  }

  async onModuleDestroy(): Promise<void> {
    this.isOver = true;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.adding;
  }

  private send(): void {
    this.timer = null;
    const before = this.adding;
    this.adding = this.queue
      .add(
        EVALUATE_DELIVERIES_JOB.name,
        {},
        {
          deduplication: { id: EVALUATE_DELIVERIES_JOB.name, keepLastIfActive: true },
          removeOnComplete: true,
          removeOnFail: true,
        },
      )
      .catch((error: Error) => this.logger.warn(`An evaluation nudge was lost: ${error.message}`))
      .then(() => before);
  }
}
