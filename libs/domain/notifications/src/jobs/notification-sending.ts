import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { DeliverNotifications } from '../application/deliver-notifications.js';
import type { ClaimedNotification } from '../domain/notification-delivery.js';
import { NotificationDeliveriesStore } from '../persistence/notification-deliveries.store.js';
import { PRUNE_DELIVERIES_TASK, SEND_NOTIFICATIONS_TASK } from '../application/notification-tasks.js';

const MAX_CONCURRENT_ATTEMPTS = 32;
const PRUNE_BATCH_SIZE = 1000;

/** Sends notifications: each run begins the attempts that can begin, and the end of an attempt causes a run. */
@Injectable()
export class NotificationSending implements OnModuleDestroy {
  private readonly sending: PeriodicTask;
  private readonly ending = new AbortController();
  private readonly attempts = new Map<ClaimedNotification, Promise<void>>();

  constructor(
    private readonly deliver: DeliverNotifications,
    private readonly deliveries: NotificationDeliveriesStore,
    private readonly settings: Settings,
    tasks: BackgroundTasks,
  ) {
    this.sending = tasks.implement(SEND_NOTIFICATIONS_TASK, () => this.beginAttempts());
    tasks.implement(PRUNE_DELIVERIES_TASK, () => this.prune());
  }

  /** Lets the attempts under way end within the grace period, then aborts them: another process repeats them. */
  async onModuleDestroy(): Promise<void> {
    await this.sending.stop();
    const timeout = setTimeout(() => this.ending.abort(), this.settings.shutdownGrace);
    await Promise.all(this.attempts.values());
    clearTimeout(timeout);
  }

  private async beginAttempts(): Promise<void> {
    const free = MAX_CONCURRENT_ATTEMPTS - this.attempts.size;
    if (free === 0) return;
    const busy = [...new Set([...this.attempts.keys()].map(({ webhookUid }) => webhookUid))];
    for (const delivery of await this.deliver.claim(free, busy)) this.begin(delivery);
  }

  private begin(delivery: ClaimedNotification): void {
    const attempt = this.deliver
      .attempt(delivery, this.ending.signal)
      .catch((error: unknown) => this.sending.report(error))
      .finally(() => {
        this.attempts.delete(delivery);
        // More deliveries of the same webhook, and those beyond the limit, may be waiting.
        this.sending.wake();
      });
    this.attempts.set(delivery, attempt);
  }

  private async prune(): Promise<void> {
    while ((await this.deliveries.prune(this.settings.notifyLogRetention, PRUNE_BATCH_SIZE)) === PRUNE_BATCH_SIZE);
  }
}
