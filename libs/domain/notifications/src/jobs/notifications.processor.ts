import { InjectQueue, Processor } from '@nestjs/bullmq';
import { Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { Settings } from '#platform/config';
import { handles, JobProcessor } from '#platform/jobs';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { DeliveryPump } from './delivery-pump.js';
import { PRUNE_DELIVERIES_JOB, SEND_NOTIFICATIONS_JOB } from './notification-jobs.js';

const HOUR_MS = 3_600_000;
const PRUNED_AT_ONCE = 1000;

/** Takes nudges from the queue, and forgets old deliveries once an hour over all processes. */
@Processor(SEND_NOTIFICATIONS_JOB.queue, { concurrency: 1, runRetryDelay: 500 })
export class NotificationsProcessor extends JobProcessor implements OnApplicationBootstrap {
  private readonly logger = new Logger(NotificationsProcessor.name);

  readonly handlers = [
    handles(SEND_NOTIFICATIONS_JOB, () => Promise.resolve(this.pump.pump())),
    handles(PRUNE_DELIVERIES_JOB, () => this.prune()),
  ];

  constructor(
    @InjectQueue(SEND_NOTIFICATIONS_JOB.queue) private readonly queue: Queue,
    private readonly pump: DeliveryPump,
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly settings: Settings,
  ) {
    super();
    queue.on('error', (error) => this.logger.warn(`The notifications queue reports: ${error.message}`));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.queue.upsertJobScheduler(
      PRUNE_DELIVERIES_JOB.name,
      { every: HOUR_MS },
      { name: PRUNE_DELIVERIES_JOB.name, data: {}, opts: { removeOnComplete: true, removeOnFail: true } },
    );
  }

  private async prune(): Promise<void> {
    while ((await this.deliveries.prune(this.settings.notifyLogRetention, PRUNED_AT_ONCE)) === PRUNED_AT_ONCE);
  }
}
