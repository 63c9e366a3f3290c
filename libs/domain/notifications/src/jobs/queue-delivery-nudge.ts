import { Injectable } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { DeliveryNudge } from '../application/ports.js';
import { SEND_NOTIFICATIONS_TASK } from './notification-jobs.js';

@Injectable()
export class QueueDeliveryNudge extends DeliveryNudge {
  constructor(private readonly tasks: BackgroundTasks) {
    super();
  }

  override nudge(): void {
    this.tasks.wake(SEND_NOTIFICATIONS_TASK);
  }
}
