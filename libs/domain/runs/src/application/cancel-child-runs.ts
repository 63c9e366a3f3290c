import { Injectable } from '@nestjs/common';
import { Database } from '#platform/persistence';
import { ChildRunsStore } from '../persistence/child-runs.store.js';
import { RunsStore } from '../persistence/runs.store.js';
import { RunsService } from './runs.service.js';

const MESSAGE = 'Cancelled: the run that has started it was cancelled.';

/**
 * Cancels runs that agents have started, after the run of the agent. Not within its transaction, which would lock many runs at once: each
 * pass is idempotent, and a process that ends in between leaves the rest to the next one.
 */
@Injectable()
export class CancelChildRuns {
  constructor(
    private readonly database: Database,
    private readonly store: ChildRunsStore,
    private readonly runs: RunsStore,
    private readonly service: RunsService,
  ) {}

  /** Also the runs below them. A run that is being offered is cancelled by a later pass. */
  async run(signal: AbortSignal): Promise<void> {
    for (let hasCancelled = true; hasCancelled && !signal.aborted;) {
      hasCancelled = false;
      for await (const id of this.store.findOrphans()) {
        if (signal.aborted) return;
        const run = await this.runs.find(id);
        if (!run) continue;
        const result = await this.database.transaction((tx) =>
          this.service.cancelIn(tx, id, run, run.creator, MESSAGE),
        );
        if (result.kind === 'cancelled') hasCancelled = true;
      }
    }
  }
}
