import { Injectable, Logger } from '@nestjs/common';
import { BackgroundTasks } from '#platform/jobs';
import { EvaluateDeliveries } from '../application/evaluate-deliveries.js';
import { EVALUATE_DELIVERIES_TASK, PRUNE_DELIVERIES_TASK } from '../application/webhook-tasks.js';
import { PruneDeliveries } from '../persistence/prune-deliveries.js';

@Injectable()
export class WebhookJobs {
  private readonly logger = new Logger(WebhookJobs.name);

  constructor(evaluate: EvaluateDeliveries, prune: PruneDeliveries, tasks: BackgroundTasks) {
    const evaluation = tasks.implement(EVALUATE_DELIVERIES_TASK, async (signal) => {
      const evaluated = await evaluate.runOnce(signal, (error) => evaluation.report(error));
      return evaluated > 0 ? 'again' : undefined;
    });
    tasks.implement(PRUNE_DELIVERIES_TASK, async (signal) => {
      const { deliveries, identities, webhooks } = await prune.execute(signal);
      if (deliveries + identities + webhooks > 0)
        this.logger.log(`Deleted ${deliveries} deliveries, ${identities} identities and ${webhooks} deleted webhooks.`);
    });
  }
}
