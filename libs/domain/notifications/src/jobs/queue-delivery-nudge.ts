import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { CoalescedNudges } from '#platform/jobs';
import { DeliveryNudge } from '../application/ports.js';
import { SEND_NOTIFICATIONS_JOB } from './notification-jobs.js';

/** Long enough for the transaction that nudged to commit, as a rule. */
const COALESCE_MS = 50;

@Injectable()
export class QueueDeliveryNudge extends DeliveryNudge implements OnModuleDestroy {
  private readonly nudges: CoalescedNudges;

  constructor(@InjectQueue(SEND_NOTIFICATIONS_JOB.queue) queue: Queue) {
    super();
    this.nudges = new CoalescedNudges(queue, SEND_NOTIFICATIONS_JOB, COALESCE_MS);
  }

  override nudge(): void {
    this.nudges.nudge();
  }

  onModuleDestroy(): Promise<void> {
    return this.nudges.close();
  }
}
