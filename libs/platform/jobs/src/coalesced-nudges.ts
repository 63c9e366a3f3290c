import { Logger } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { JobDefinition } from './job-definition.js';

/**
 * Adds a job that says "there may be something to do", at most one in a while, however often it is asked to: adding a
 * job notifies, and PostgreSQL serialises commits that notify. Jobs of one name that wait are one. A nudge that is lost
 * costs whoever waits for it a poll, so a fault is logged and forgotten; nothing here ever throws.
 */
export class CoalescedNudges {
  private readonly logger = new Logger(CoalescedNudges.name);
  private timer: NodeJS.Timeout | null = null;
  private adding: Promise<unknown> | null = null;
  private again = false;
  private isOver = false;

  constructor(
    private readonly queue: Queue,
    private readonly job: JobDefinition<Record<string, never>>,
    private readonly coalesceMs: number,
  ) {
    queue.on('error', (error) => this.logger.warn(`The queue ${job.queue} reports: ${error.message}`));
  }

  nudge(): void {
    if (this.timer || this.isOver) return;
    if (this.adding) this.again = true;
    else this.timer = setTimeout(() => this.send(), this.coalesceMs);
  }

  /** Waits for what is being added; what was only asked for is dropped. */
  async close(): Promise<void> {
    this.isOver = true;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.adding;
  }

  private send(): void {
    this.timer = null;
    const { name } = this.job;
    this.adding = this.queue
      .add(
        name,
        {},
        { deduplication: { id: name, keepLastIfActive: true }, removeOnComplete: true, removeOnFail: true },
      )
      .catch((error: Error) => this.logger.warn(`A nudge (${name}) was lost: ${error.message}`))
      .finally(() => {
        this.adding = null;
        if (!this.again) return;
        this.again = false;
        this.nudge();
      });
  }
}
