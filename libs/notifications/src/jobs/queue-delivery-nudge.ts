import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { DeliveryNudge } from '../application/ports.js';
import { SEND_NOTIFICATIONS_JOB } from './notification-jobs.js';

/**
 * Long enough for the transaction that nudged to commit, as a rule; and one job in this time, however many runs end:
 * adding a job notifies, and notifying commits queue up.
 */
const COALESCE_MS = 50;

/** Coalesced nudges over the queue. A lost one costs the poll interval, so a fault is logged and forgotten. */
@Injectable()
export class QueueDeliveryNudge extends DeliveryNudge implements OnModuleDestroy {
  private readonly logger = new Logger(QueueDeliveryNudge.name);
  private timer: NodeJS.Timeout | null = null;
  private adding: Promise<unknown> | null = null;

  constructor(@InjectQueue(SEND_NOTIFICATIONS_JOB.queue) private readonly queue: Queue) {
    super();
    queue.on('error', (error) => this.logger.warn(`The notifications queue reports: ${error.message}`));
  }

  override nudge(): void {
    this.timer ??= setTimeout(() => this.send(), COALESCE_MS);
  }

  async onModuleDestroy(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.adding;
  }

  private send(): void {
    this.timer = null;
    const before = this.adding;
    this.adding = this.queue
      .add(
        SEND_NOTIFICATIONS_JOB.name,
        {},
        {
          deduplication: { id: SEND_NOTIFICATIONS_JOB.name, keepLastIfActive: true },
          removeOnComplete: true,
          removeOnFail: true,
        },
      )
      .catch((error: Error) => this.logger.warn(`A notification nudge was lost: ${error.message}`))
      .then(() => before);
  }
}
