import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PrunesStore } from '../persistence/prunes.store.js';

const WEBHOOKS_PER_BATCH = 200;
const ROWS_PER_BATCH = 1000;

export interface Pruned {
  readonly deliveries: number;
  readonly identities: number;
  readonly webhooks: number;
}

/** Deletes expired deliveries, identities and webhooks in small batches. After an abort the next call continues. */
@Injectable()
export class PruneDeliveries {
  constructor(
    private readonly store: PrunesStore,
    private readonly settings: Settings,
  ) {}

  async execute(signal: AbortSignal): Promise<Pruned> {
    const deliveries = await this.logs(signal);
    const identities = await this.repeat(signal, () =>
      this.store.pruneIdentities(this.settings.webhookDedupWindow, ROWS_PER_BATCH),
    );
    return { deliveries, identities, webhooks: await this.webhooks(signal) };
  }

  private async logs(signal: AbortSignal): Promise<number> {
    const { webhookLogMinEntries: keep, webhookLogRetention: olderThanMs } = this.settings;
    let all = 0;
    for (let after: string | null = '0'; after !== null && !signal.aborted;) {
      const step = await this.store.pruneLogs(after, WEBHOOKS_PER_BATCH, { keep, olderThanMs }, ROWS_PER_BATCH);
      all += step.pruned;
      // A full batch may have omitted rows of these webhooks.
      if (step.pruned < ROWS_PER_BATCH) after = step.last;
    }
    return all;
  }

  /** Deleted webhooks are removed after their log, which refers to them. */
  private async webhooks(signal: AbortSignal): Promise<number> {
    return this.repeat(
      signal,
      async () => {
        const webhookIds = await this.store.deletedWebhooks(this.settings.webhookLogRetention, WEBHOOKS_PER_BATCH);
        await this.repeat(signal, () => this.store.pruneIdentitiesOf(webhookIds, ROWS_PER_BATCH), ROWS_PER_BATCH);
        if (signal.aborted || webhookIds.length === 0) return 0;
        await this.store.pruneWebhooks(webhookIds);
        return webhookIds.length;
      },
      WEBHOOKS_PER_BATCH,
    );
  }

  /** Repeats a batch until it is not full. */
  private async repeat(signal: AbortSignal, step: () => Promise<number>, full = ROWS_PER_BATCH): Promise<number> {
    let all = 0;
    while (!signal.aborted) {
      const done = await step();
      all += done;
      if (done < full) break;
    }
    return all;
  }
}
