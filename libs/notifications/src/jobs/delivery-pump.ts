import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#libs/config';
import { isDatabaseUnavailable } from '#libs/persistence';
import { DeliverNotifications } from '../application/deliver-notifications.js';
import type { ClaimedDelivery } from '../domain/delivery.js';

/** Attempts of one process at the same time. */
const AT_ONCE = 32;

/** Keeps messages going out: on a nudge, when an attempt ends, and by a poll as the safety net. */
@Injectable()
export class DeliveryPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(DeliveryPump.name);
  private readonly ending = new AbortController();
  private readonly attempts = new Map<ClaimedDelivery, Promise<void>>();
  private timer: NodeJS.Timeout | null = null;
  private pumping: Promise<void> | null = null;
  private again = false;
  private isOpen = false;

  constructor(
    private readonly deliver: DeliverNotifications,
    private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    this.isOpen = true;
    this.timer = setInterval(() => this.pump(), this.settings.notifyPoll);
  }

  /** Lets attempts that have begun end within the grace, then breaks them off: they are made again elsewhere. */
  async onModuleDestroy(): Promise<void> {
    this.isOpen = false;
    if (this.timer) clearInterval(this.timer);
    await this.pumping;
    const cut = setTimeout(() => this.ending.abort(), this.settings.shutdownGrace);
    await Promise.all(this.attempts.values());
    clearTimeout(cut);
  }

  /** Begins whatever can begin now. Calls that overlap make it look once more. Never throws. */
  pump(): void {
    if (!this.isOpen) return;
    if (this.pumping) {
      this.again = true;
      return;
    }
    this.pumping = this.begin()
      .catch((error: unknown) => this.report(error))
      .finally(() => {
        this.pumping = null;
        if (!this.again) return;
        this.again = false;
        this.pump();
      });
  }

  private async begin(): Promise<void> {
    const free = AT_ONCE - this.attempts.size;
    if (free === 0) return;
    const busy = [...new Set([...this.attempts.keys()].map(({ webhookUid }) => webhookUid))];
    for (const delivery of await this.deliver.claim(free, busy)) this.launch(delivery);
  }

  private launch(delivery: ClaimedDelivery): void {
    const attempt = this.deliver
      .attempt(delivery, this.ending.signal)
      .catch((error: unknown) => this.report(error))
      .finally(() => {
        this.attempts.delete(delivery);
        // More of the same webhook may be waiting, and whatever there was no room for.
        this.pump();
      });
    this.attempts.set(delivery, attempt);
  }

  /** What was taken and not noted is due again when its lease ends. */
  private report(error: unknown): void {
    if (!isDatabaseUnavailable(error)) this.logger.error(error);
  }
}
