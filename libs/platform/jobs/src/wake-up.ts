import { Logger } from '@nestjs/common';
import type { Queue } from 'bullmq';

/** More wake-ups than this in {@link LOADED_MS} are load, under which at most one job in this time is added. */
const LOAD = 10;
const LOADED_MS = 100;

/**
 * Adds a job that wakes a task up, the first at once and at most one per `coalesceMs`, under load one in 100 ms: a job takes
 * processor time, and PostgreSQL serialises commits that notify. Waiting jobs of one name are one job. A
 * wake-up that is lost delays the work by one period, so an error is logged and nothing here throws.
 */
export class WakeUp {
  private readonly logger = new Logger(WakeUp.name);
  private timer: NodeJS.Timeout | null = null;
  private adding: Promise<unknown> | null = null;
  private sendAgain = false;
  private isClosed = false;
  /** On `performance.now()`. */
  private addedAt = -Infinity;
  /** Of the wake-ups that are counted together, and how many there were. */
  private windowEndsAt = -Infinity;
  private count = 0;
  private isUnderLoad = false;

  constructor(
    private readonly queue: Queue,
    private readonly jobName: string,
    private readonly coalesceMs: number,
  ) {}

  send(): void {
    const now = performance.now();
    this.observe(now);
    if (this.timer || this.isClosed) return;
    if (this.adding) this.sendAgain = true;
    else this.timer = setTimeout(() => this.add(), Math.max(0, this.addedAt + this.spacingMs() - now));
  }

  private observe(now: number): void {
    if (now >= this.windowEndsAt) {
      this.isUnderLoad = this.count > LOAD && now < this.windowEndsAt + LOADED_MS;
      this.windowEndsAt = now + LOADED_MS;
      this.count = 0;
    }
    this.count += 1;
  }

  private spacingMs(): number {
    return this.isUnderLoad ? Math.max(LOADED_MS, this.coalesceMs) : this.coalesceMs;
  }

  /** Waits for the job that is being added; a wake-up that has not been added yet is dropped. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.adding;
  }

  private add(): void {
    this.timer = null;
    this.addedAt = performance.now();
    this.adding = addOnce(this.queue, this.jobName, this.jobName)
      .catch((error: Error) => this.logger.warn(`A wake-up of ${this.jobName} was lost: ${error.message}`))
      .finally(() => {
        this.adding = null;
        if (!this.sendAgain) return;
        this.sendAgain = false;
        this.send();
      });
  }
}

/** One waiting job for all that are added under this id. One that is added during the job of the same id follows it. */
export function addOnce(queue: Queue, jobName: string, id: string): Promise<unknown> {
  return queue.add(
    jobName,
    {},
    { deduplication: { id, keepLastIfActive: true }, removeOnComplete: true, removeOnFail: true },
  );
}
