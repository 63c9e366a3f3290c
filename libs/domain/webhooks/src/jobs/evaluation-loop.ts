import { Injectable, Logger } from '@nestjs/common';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { EvaluateDeliveries, FACTORIES_PER_BATCH } from '../application/evaluate-deliveries.js';
import { PruneDeliveries } from '../application/prune-deliveries.js';
import { fairShares, type WebhookShare } from '../domain/fair-shares.js';
import { EVALUATE_DELIVERIES_TASK, PRUNE_DELIVERIES_TASK } from '../application/webhook-tasks.js';

const WEBHOOKS_PER_PAGE = 256;

/** Evaluates deliveries and prunes their log. */
@Injectable()
export class EvaluationLoop {
  private readonly logger = new Logger(EvaluationLoop.name);
  private readonly evaluation: PeriodicTask;
  private turn = 0;

  constructor(
    private readonly evaluate: EvaluateDeliveries,
    private readonly pruneDeliveries: PruneDeliveries,
    tasks: BackgroundTasks,
  ) {
    this.evaluation = tasks.implement(EVALUATE_DELIVERIES_TASK, async (signal) =>
      (await this.runOnce(signal)) > 0 ? 'again' : undefined,
    );
    tasks.implement(PRUNE_DELIVERIES_TASK, (signal) => this.prune(signal));
  }

  /** Every factory has its turn once. Returns the number of deliveries that were evaluated. */
  private async runOnce(signal: AbortSignal): Promise<number> {
    let evaluated = 0;
    const turn = this.turn++;
    for (let after = '0'; !signal.aborted;) {
      const waiting = await this.evaluate.waiting(after, WEBHOOKS_PER_PAGE);
      const factories = fairShares(waiting, turn);
      for (let index = 0; index < factories.length && !signal.aborted; index += FACTORIES_PER_BATCH)
        evaluated += await this.evaluateBatch(factories.slice(index, index + FACTORIES_PER_BATCH));
      const last = waiting.at(-1);
      if (last === undefined || waiting.length < WEBHOOKS_PER_PAGE) break;
      after = last.webhookId;
    }
    return evaluated;
  }

  /** A batch that fails is left to a later run, so that the factories after it have their turn. */
  private async evaluateBatch(factories: readonly (readonly WebhookShare[])[]): Promise<number> {
    try {
      return await this.evaluate.execute(factories);
    } catch (error) {
      this.evaluation.report(error);
      return 0;
    }
  }

  private async prune(signal: AbortSignal): Promise<void> {
    const { deliveries, identities, webhooks } = await this.pruneDeliveries.execute(signal);
    if (deliveries + identities + webhooks > 0)
      this.logger.log(`Deleted ${deliveries} deliveries, ${identities} identities and ${webhooks} deleted webhooks.`);
  }
}
