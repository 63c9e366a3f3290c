import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Pump } from '#platform/jobs';
import { EvaluateDeliveries, FACTORIES_PER_BATCH } from '../application/evaluate-deliveries.js';
import { fairShares, type WebhookShare } from '../domain/fair-shares.js';

const WALKED_AT_ONCE = 256;

/** Evaluates deliveries, lap by lap over the factories until none has any. */
@Injectable()
export class EvaluationPump implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly rounds = new Pump(EvaluationPump.name, () => this.laps());
  private lapsRun = 0;

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

  /** Each factory has its turn once. Returns how many deliveries were evaluated. */
  private async lap(): Promise<number> {
    let evaluated = 0;
    const lap = this.lapsRun++;
    for (let after = '0'; this.rounds.isOpen;) {
      const waiting = await this.evaluate.waiting(after, WALKED_AT_ONCE);
      const factories = fairShares(waiting, lap);
      for (let index = 0; index < factories.length && this.rounds.isOpen; index += FACTORIES_PER_BATCH)
        evaluated += await this.batch(factories.slice(index, index + FACTORIES_PER_BATCH));
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < WALKED_AT_ONCE) break;
      after = last.webhookId;
    }
    return evaluated;
  }

  /** A batch that fails is left to a later round; the factories behind it have their turn. */
  private async batch(factories: readonly (readonly WebhookShare[])[]): Promise<number> {
    try {
      return await this.evaluate.execute(factories);
    } catch (error) {
      this.rounds.report(error);
      return 0;
    }
  }
}
