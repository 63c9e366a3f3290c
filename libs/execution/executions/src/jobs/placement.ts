import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { OFFERS_AT_ONCE, PlaceRuns } from '../application/place-runs.js';
import { Executor } from '../application/executors.js';
import { PLACE_RUNS_TASK } from './placement-jobs.js';

/** Places queued runs on the executor of this machine. */
@Injectable()
export class Placement {
  private readonly task: PeriodicTask;
  private readonly placedBy = randomUUID();

  constructor(
    private readonly placeRuns: PlaceRuns,
    private readonly executor: Executor,
    private readonly tasks: BackgroundTasks,
  ) {
    // Nothing is placed before the executor is prepared.
    this.task = tasks.implement(PLACE_RUNS_TASK, () => this.place(), { startsBy: 'owner' });
  }

  /** Rejects when the executor cannot work with its settings. */
  async start(): Promise<void> {
    await this.executor.prepare();
    await this.placeRuns.setCapacity();
    await this.tasks.start(this.task);
  }

  /** Places no more runs; resolves when the placement under way has ended. */
  stop(): Promise<void> {
    return this.task.stop();
  }

  private async place(): Promise<'again' | void> {
    if (!this.executor.isReady) return;
    const max = Math.min(OFFERS_AT_ONCE, await this.executor.startCapacity());
    // The next period repeats this: runners that start now will have claimed their executions by then, or not.
    if (max < 1) return;
    const offers = await this.placeRuns.execute(this.placedBy, max);
    for (const offer of offers) this.executor.launch(offer);
    if (offers.length > 0) return 'again';
  }
}
