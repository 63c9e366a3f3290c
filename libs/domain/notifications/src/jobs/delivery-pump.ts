import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Pump } from '#platform/jobs';
import { DeliverNotifications } from '../application/deliver-notifications.js';
import type { ClaimedNotification } from '../domain/notification-delivery.js';

/** Attempts of one process at the same time. */
const AT_ONCE = 32;

/** Keeps messages going out: a round begins whatever can begin, and so does the end of an attempt. */
@Injectable()
export class DeliveryPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly rounds = new Pump(DeliveryPump.name, () => this.begin());
  private readonly ending = new AbortController();
  private readonly attempts = new Map<ClaimedNotification, Promise<void>>();

  constructor(
    private readonly deliver: DeliverNotifications,
    private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    this.rounds.open(this.settings.notifyPoll);
  }

  /** Lets attempts that have begun end within the grace, then breaks them off: they are made again elsewhere. */
  async onModuleDestroy(): Promise<void> {
    await this.rounds.close();
    const cut = setTimeout(() => this.ending.abort(), this.settings.shutdownGrace);
    await Promise.all(this.attempts.values());
    clearTimeout(cut);
  }

  pump(): void {
    this.rounds.pump();
  }

  private async begin(): Promise<void> {
    const free = AT_ONCE - this.attempts.size;
    if (free === 0) return;
    const busy = [...new Set([...this.attempts.keys()].map(({ webhookUid }) => webhookUid))];
    for (const delivery of await this.deliver.claim(free, busy)) this.launch(delivery);
  }

  private launch(delivery: ClaimedNotification): void {
    const attempt = this.deliver
      .attempt(delivery, this.ending.signal)
      .catch((error: unknown) => this.rounds.report(error))
      .finally(() => {
        this.attempts.delete(delivery);
        // More of the same webhook may be waiting, and whatever there was no room for.
        this.pump();
      });
    this.attempts.set(delivery, attempt);
  }
}
