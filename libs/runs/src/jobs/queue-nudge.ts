import { InjectQueue } from '@nestjs/bullmq';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { PlacementNudge } from '../application/ports.js';
import { PLACE_RUNS_JOB } from './placement-jobs.js';

/** One nudge in this time, however many runs are created: adding a job notifies, and notifying commits queue up. */
const COALESCE_MS = 10;

/** Coalesced nudges over the queue. A lost one costs the poll interval, so a fault is logged and forgotten. */
@Injectable()
export class QueueNudge extends PlacementNudge implements OnModuleDestroy {
  private readonly logger = new Logger(QueueNudge.name);
  private timer: NodeJS.Timeout | null = null;
  private adding: Promise<unknown> | null = null;
  private again = false;

  constructor(@InjectQueue(PLACE_RUNS_JOB.queue) private readonly queue: Queue) {
    super();
    queue.on('error', (error) => this.logger.warn(`The placement queue reports: ${error.message}`));
  }

  override nudge(): void {
    if (this.timer) return;
    if (this.adding) {
      this.again = true;
      return;
    }
    this.timer = setTimeout(() => this.send(), COALESCE_MS);
  }

  async onModuleDestroy(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.again = false;
    await this.adding;
  }

  private send(): void {
    this.timer = null;
    this.adding = this.queue
      .add(
        PLACE_RUNS_JOB.name,
        {},
        { deduplication: { id: 'place-runs', keepLastIfActive: true }, removeOnComplete: true, removeOnFail: true },
      )
      .catch((error: Error) => this.logger.warn(`A placement nudge was lost: ${error.message}`))
      .finally(() => {
        this.adding = null;
        if (!this.again) return;
        this.again = false;
        this.nudge();
      });
  }
}
