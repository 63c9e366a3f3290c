import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { randomUUID } from 'node:crypto';
import { Settings } from '#platform/config';
import { isDatabaseUnavailable } from '#platform/persistence';
import { OFFERS_AT_ONCE, PlaceRuns } from '../application/place-runs.js';
import { Executor } from '../application/executors.js';

/** Places queued runs on this machine's executor: on a nudge from the queue, and by a poll as the safety net. */
@Injectable()
export class Placement {
  private readonly logger = new Logger(Placement.name);
  private readonly placedBy = randomUUID();
  private round_: Promise<void> | null = null;
  private again = false;
  /** Nudges come as soon as the queue is open; nothing is placed before the executor is prepared, or after the end. */
  private isOpen = false;

  constructor(
    private readonly placeRuns: PlaceRuns,
    private readonly executor: Executor,
    private readonly settings: Settings,
    private readonly timers: SchedulerRegistry,
  ) {}

  /** Rejects when the executor cannot work as it is set up. */
  async start(): Promise<void> {
    await this.executor.prepare();
    await this.placeRuns.setCapacity();
    this.isOpen = true;
    const poll = setInterval(() => this.poll(), this.settings.placementPoll);
    this.timers.addInterval('placement-poll', poll);
  }

  /** Offers what can be offered now. Calls that overlap share one round and make it look once more. */
  round(): Promise<void> {
    if (this.round_) {
      this.again = true;
      return this.round_;
    }
    this.round_ = this.place().finally(() => {
      this.round_ = null;
    });
    return this.round_;
  }

  /** Takes no more runs; resolves when the round under way is over. */
  async stop(): Promise<void> {
    this.isOpen = false;
    if (this.timers.doesExist('interval', 'placement-poll')) this.timers.deleteInterval('placement-poll');
    await this.round_?.catch((error: unknown) => this.logger.warn(`The last placement round failed: ${String(error)}`));
  }

  /** A round under way reports its error to whoever began it. */
  private poll(): void {
    if (this.round_) {
      this.again = true;
      return;
    }
    this.round().catch((error: unknown) => {
      if (!isDatabaseUnavailable(error)) this.logger.error(error);
    });
  }

  private async place(): Promise<void> {
    do {
      this.again = false;
      if (!this.isOpen || !this.executor.isReady) return;
      const max = Math.min(OFFERS_AT_ONCE, await this.executor.startCapacity());
      // The poll looks again: what starts now has claimed its execution by then, or not.
      if (max < 1) return;
      const offers = await this.placeRuns.execute(this.placedBy, max);
      for (const offer of offers) this.executor.launch(offer);
      if (offers.length > 0) this.again = true;
    } while (this.again);
  }
}
