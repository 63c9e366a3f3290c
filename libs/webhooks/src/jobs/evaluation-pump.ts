import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#libs/config';
import { isDatabaseUnavailable } from '#libs/persistence';
import { EvaluateDeliveries, WEBHOOKS_AT_ONCE } from '../application/evaluate-deliveries.js';

const WALKED_AT_ONCE = 256;

/** Evaluates deliveries on a nudge, and by a poll as the safety net; lap by lap over the webhooks until none has any. */
@Injectable()
export class EvaluationPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(EvaluationPump.name);
  private timer: NodeJS.Timeout | null = null;
  private pumping: Promise<void> | null = null;
  private again = false;
  private isOpen = false;

  constructor(
    private readonly evaluate: EvaluateDeliveries,
    private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    this.isOpen = true;
    this.timer = setInterval(() => this.pump(), this.settings.webhookEvaluationPoll);
  }

  /** Waits for the batch under way. */
  async onModuleDestroy(): Promise<void> {
    this.isOpen = false;
    if (this.timer) clearInterval(this.timer);
    await this.pumping;
  }

  /** Begins at once. Calls that overlap make it look once more. Never throws. */
  pump(): void {
    if (!this.isOpen) return;
    if (this.pumping) {
      this.again = true;
      return;
    }
    this.pumping = this.laps()
      .catch((error: unknown) => this.report(error))
      .finally(() => {
        this.pumping = null;
        if (!this.again) return;
        this.again = false;
        this.pump();
      });
  }

  private async laps(): Promise<void> {
    while ((await this.lap()) > 0);
  }

  /** Each webhook has its turn once. Returns how many deliveries were evaluated. */
  private async lap(): Promise<number> {
    let evaluated = 0;
    for (let after = '0'; this.isOpen;) {
      const webhookIds = await this.evaluate.waiting(after, WALKED_AT_ONCE);
      for (let index = 0; index < webhookIds.length && this.isOpen; index += WEBHOOKS_AT_ONCE)
        evaluated += await this.evaluate.execute(webhookIds.slice(index, index + WEBHOOKS_AT_ONCE));
      const last = webhookIds.at(-1);
      if (last === undefined || webhookIds.length < WALKED_AT_ONCE) break;
      after = last;
    }
    return evaluated;
  }

  /** What was taken is free again, and found by the next poll. */
  private report(error: unknown): void {
    if (!isDatabaseUnavailable(error)) this.logger.error(error);
  }
}
