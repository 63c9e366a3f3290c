import { Injectable } from '@nestjs/common';
import { Settings } from '#platform/config';
import { PrunesStore } from '../persistence/prunes.store.js';

const WEBHOOKS_AT_ONCE = 200;
const ROWS_AT_ONCE = 1000;

export interface Pruned {
  readonly deliveries: number;
  readonly identities: number;
  readonly webhooks: number;
}

/** Forgets what the settings no longer keep, in small steps; a round that is stopped goes on with the next one. */
@Injectable()
export class PruneDeliveries {
  constructor(
    private readonly store: PrunesStore,
    private readonly settings: Settings,
  ) {}

  async execute(signal: AbortSignal): Promise<Pruned> {
    const deliveries = await this.logs(signal);
    const identities = await this.repeat(signal, () =>
      this.store.pruneIdentities(this.settings.webhookDedupWindow, ROWS_AT_ONCE),
    );
    return { deliveries, identities, webhooks: await this.webhooks(signal) };
  }

  private async logs(signal: AbortSignal): Promise<number> {
    const { webhookLogMinEntries: keep, webhookLogRetention: olderThanMs } = this.settings;
    let all = 0;
    for (let after: string | null = '0'; after !== null && !signal.aborted;) {
      const step = await this.store.pruneLogs(after, WEBHOOKS_AT_ONCE, { keep, olderThanMs }, ROWS_AT_ONCE);
      all += step.pruned;
      // A full step may have left some of these webhooks out.
      if (step.pruned < ROWS_AT_ONCE) after = step.last;
    }
    return all;
  }

  /** Rows of deleted webhooks go after their log, which names them. */
  private async webhooks(signal: AbortSignal): Promise<number> {
    return this.repeat(
      signal,
      async () => {
        const webhookIds = await this.store.deletedWebhooks(this.settings.webhookLogRetention, WEBHOOKS_AT_ONCE);
        await this.repeat(signal, () => this.store.pruneIdentitiesOf(webhookIds, ROWS_AT_ONCE), ROWS_AT_ONCE);
        if (signal.aborted || webhookIds.length === 0) return 0;
        await this.store.pruneWebhooks(webhookIds);
        return webhookIds.length;
      },
      WEBHOOKS_AT_ONCE,
    );
  }

  /** Until a step finds less than it may take. */
  private async repeat(signal: AbortSignal, step: () => Promise<number>, full = ROWS_AT_ONCE): Promise<number> {
    let all = 0;
    while (!signal.aborted) {
      const done = await step();
      all += done;
      if (done < full) break;
    }
    return all;
  }
}
