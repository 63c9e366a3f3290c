import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#libs/config';
import { Pump } from '#libs/jobs';
import { EvaluateDeliveries, WEBHOOKS_AT_ONCE } from '../application/evaluate-deliveries.js';

const WALKED_AT_ONCE = 256;

/** Evaluates deliveries, lap by lap over the webhooks until none has any. */
@Injectable()
export class EvaluationPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly rounds = new Pump(EvaluationPump.name, () => this.laps());

  constructor(
    private readonly evaluate: EvaluateDeliveries,
    private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    this.rounds.open(this.settings.webhookEvaluationPoll);
  }

  onModuleDestroy(): Promise<void> {
    return this.rounds.close();
  }

  pump(): void {
    this.rounds.pump();
  }

  private async laps(): Promise<void> {
    while ((await this.lap()) > 0);
  }

  /** Each webhook has its turn once. Returns how many deliveries were evaluated. */
  private async lap(): Promise<number> {
    let evaluated = 0;
    for (let after = '0'; this.rounds.isOpen;) {
      const webhookIds = await this.evaluate.waiting(after, WALKED_AT_ONCE);
      for (let index = 0; index < webhookIds.length && this.rounds.isOpen; index += WEBHOOKS_AT_ONCE)
        evaluated += await this.batch(webhookIds.slice(index, index + WEBHOOKS_AT_ONCE));
      const last = webhookIds.at(-1);
      if (last === undefined || webhookIds.length < WALKED_AT_ONCE) break;
      after = last;
    }
    return evaluated;
  }

  /** A batch that fails is left to a later round; the webhooks behind it have their turn. */
  private async batch(webhookIds: readonly string[]): Promise<number> {
    try {
      return await this.evaluate.execute(webhookIds);
    } catch (error) {
      this.rounds.report(error);
      return 0;
    }
  }
}
