import { InjectQueue, Processor } from '@nestjs/bullmq';
import { Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { handles, JobProcessor } from '#libs/jobs';
import { ObjectDisposal } from '../object-disposal.js';
import { SWEEP_DISCARDED_OBJECTS_JOB } from './disposal-jobs.js';

const EVERY_MS = 5 * 60_000;
const BATCH = 500;
/** A round ends after this many batches; the next one goes on where it ended. */
const MAX_BATCHES = 100;

/** Deletes discarded objects, on BullMQ's own clock: every five minutes over all processes. */
@Processor(SWEEP_DISCARDED_OBJECTS_JOB.queue, { concurrency: 1, runRetryDelay: 1000 })
export class DisposalProcessor extends JobProcessor implements OnApplicationBootstrap {
  private readonly logger = new Logger(DisposalProcessor.name);

  readonly handlers = [handles(SWEEP_DISCARDED_OBJECTS_JOB, () => this.round())];

  constructor(
    @InjectQueue(SWEEP_DISCARDED_OBJECTS_JOB.queue) private readonly queue: Queue,
    private readonly disposal: ObjectDisposal,
  ) {
    super();
    queue.on('error', (error) => this.logger.warn(`The storage queue reports: ${error.message}`));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.queue.upsertJobScheduler(
      SWEEP_DISCARDED_OBJECTS_JOB.name,
      { every: EVERY_MS },
      {
        name: SWEEP_DISCARDED_OBJECTS_JOB.name,
        data: {},
        opts: { removeOnComplete: true, removeOnFail: true },
      },
    );
  }

  private async round(): Promise<void> {
    try {
      for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
        if ((await this.disposal.sweep(BATCH)) < BATCH) return;
      }
    } catch (error) {
      // The rows are still there: the next round tries again.
      this.logger.warn(
        `Discarded objects could not be deleted: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}
