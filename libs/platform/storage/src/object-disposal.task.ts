import { Injectable, Logger } from '@nestjs/common';
import { BackgroundTasks, defineTask } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { ObjectDisposal } from './object-disposal.js';
import { ObjectStoreUnavailableError } from './s3/s3-error.js';

const BATCH_SIZE = 500;
/** Longer work continues in another job, so that a process that is killed loses little. */
const MAX_RUN_MS = 2 * 60_000;

const DELETE_DISCARDED_OBJECTS_TASK = defineTask({
  name: 'sweep-discarded-objects',
  library: 'storage',
  process: 'processor',
  scope: 'cluster',
  period: 5 * 60_000,
  description: 'Deletes discarded objects whose links have expired, batch by batch until none is due.',
  queue: { name: 'storage', options: { concurrency: 1, runRetryDelay: 1000 } },
});

/** Deletes discarded objects. */
@Injectable()
export class ObjectDisposalTask {
  private readonly logger = new Logger(ObjectDisposalTask.name);

  constructor(
    private readonly disposal: ObjectDisposal,
    private readonly clock: Clock,
    tasks: BackgroundTasks,
  ) {
    tasks.implement(DELETE_DISCARDED_OBJECTS_TASK, (signal) => this.run(signal));
  }

  /** Ends after its batch when `signal` is aborted, or with `again` when there is more than fits into one job. */
  async run(signal: AbortSignal): Promise<'again' | void> {
    const deadline = this.clock.now().getTime() + MAX_RUN_MS;
    try {
      while ((await this.disposal.sweep(BATCH_SIZE)) === BATCH_SIZE) {
        if (signal.aborted) return;
        if (this.clock.now().getTime() >= deadline) return 'again';
      }
    } catch (error) {
      // The rows are kept: the next run repeats the deletion.
      if (!(error instanceof ObjectStoreUnavailableError)) throw error;
      this.logger.warn(`Discarded objects could not be deleted: ${error.message}`);
    }
  }
}
