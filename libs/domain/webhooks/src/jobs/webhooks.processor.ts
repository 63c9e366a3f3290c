import { InjectQueue, Processor } from '@nestjs/bullmq';
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { handles, JobProcessor } from '#platform/jobs';
import { PruneDeliveries } from '../application/prune-deliveries.js';
import { EvaluationPump } from './evaluation-pump.js';
import { EVALUATE_DELIVERIES_JOB, PRUNE_DELIVERIES_JOB } from './webhook-jobs.js';

const HOUR_MS = 3_600_000;

/** Takes nudges from the queue, and prunes once an hour over all processes; nudges do not wait for that. */
@Processor(EVALUATE_DELIVERIES_JOB.queue, { concurrency: 2, runRetryDelay: 500 })
export class WebhooksProcessor extends JobProcessor implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhooksProcessor.name);
  private readonly ending = new AbortController();

  readonly handlers = [
    handles(EVALUATE_DELIVERIES_JOB, () => Promise.resolve(this.pump.pump())),
    handles(PRUNE_DELIVERIES_JOB, () => this.prune()),
  ];

  constructor(
    @InjectQueue(EVALUATE_DELIVERIES_JOB.queue) private readonly queue: Queue,
    private readonly pump: EvaluationPump,
    private readonly pruneDeliveries: PruneDeliveries,
  ) {
    super();
    queue.on('error', (error) => this.logger.warn(`The webhooks queue reports: ${error.message}`));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.queue.upsertJobScheduler(
      PRUNE_DELIVERIES_JOB.name,
      { every: HOUR_MS },
      { name: PRUNE_DELIVERIES_JOB.name, data: {}, opts: { removeOnComplete: true, removeOnFail: true } },
    );
  }

  /** A round under way ends after its step. */
  onModuleDestroy(): void {
    this.ending.abort();
  }

  private async prune(): Promise<void> {
    const { deliveries, identities, webhooks } = await this.pruneDeliveries.execute(this.ending.signal);
    if (deliveries + identities + webhooks > 0)
      this.logger.log(`Forgot ${deliveries} deliveries, ${identities} identities and ${webhooks} deleted webhooks.`);
  }
}
