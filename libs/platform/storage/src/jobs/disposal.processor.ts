import { InjectQueue, Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { handles, JobProcessor } from '#platform/jobs';
import { Clock } from '#platform/kernel';
import { ObjectDisposal } from '../object-disposal.js';
import { SWEEP_DISCARDED_OBJECTS_JOB } from './disposal-jobs.js';

const EVERY_MS = 5 * 60_000;
const BATCH = 500;
/** A job ends after this, in favour of one that goes on where it ended: a lost process then loses little. */
const LONGEST_JOB_MS = 2 * 60_000;

/** Deletes discarded objects, on BullMQ's own clock: every five minutes over all processes, and then until none is due. */
@Processor(SWEEP_DISCARDED_OBJECTS_JOB.queue, { concurrency: 1, runRetryDelay: 1000 })
export class DisposalProcessor extends JobProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(DisposalProcessor.name);
  private isStopped = false;

  readonly handlers = [handles(SWEEP_DISCARDED_OBJECTS_JOB, () => this.round())];

  constructor(
    @InjectQueue(SWEEP_DISCARDED_OBJECTS_JOB.queue) private readonly queue: Queue,
    private readonly disposal: ObjectDisposal,
    private readonly clock: Clock,
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

  /** A sweep under way ends after its batch. */
  beforeApplicationShutdown(): void {
    this.isStopped = true;
  }

  /** Sweeps until nothing is due; what does not fit into one job is the next one's, which starts at once. */
  private async round(): Promise<void> {
    const deadline = this.clock.now().getTime() + LONGEST_JOB_MS;
    try {
      while ((await this.disposal.sweep(BATCH)) === BATCH) {
        if (this.isStopped) return;
        if (this.clock.now().getTime() >= deadline) return await this.goOn();
      }
    } catch (error) {
      // The rows are still there: the next round tries again.
      this.logger.warn(
        `Discarded objects could not be deleted: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }

  /** One such job is enough, whoever has asked for it. */
  private async goOn(): Promise<void> {
    await this.queue.add(
      SWEEP_DISCARDED_OBJECTS_JOB.name,
      {},
      { deduplication: { id: 'go-on', keepLastIfActive: true }, removeOnComplete: true, removeOnFail: true },
    );
  }
}
