import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { AccessChanges } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { OFFERS_AT_ONCE, PlacementStore } from '../persistence/placement.store.js';
import { HostedWorker } from './hosted-worker.js';
import { SweepExecutions } from './sweep-executions.js';
import { PLACE_RUNS_TASK, SWEEP_EXECUTIONS_TASK } from './tasks.js';

/** Places and sweeps the executions of hosted runs, in the processor. */
@Injectable()
export class ExecutionWork implements OnApplicationBootstrap {
  private readonly process = randomUUID();
  private readonly placing: PeriodicTask;
  private readonly sweeper: PeriodicTask;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly placement: PlacementStore,
    private readonly worker: HostedWorker,
    private readonly changes: AccessChanges,
    private readonly tasks: BackgroundTasks,
    private readonly settings: Settings,
    sweep: SweepExecutions,
  ) {
    // Nothing is placed before the backend is prepared.
    this.placing = tasks.implement(PLACE_RUNS_TASK, () => this.place(), { startsBy: 'owner' });
    this.sweeper = tasks.implement(SWEEP_EXECUTIONS_TASK, async () => void (await sweep.execute()));
  }

  onApplicationBootstrap(): void {
    this.unsubscribe = this.changes.subscribe(() => this.sweeper.wake());
  }

  async start(): Promise<void> {
    await this.worker.start();
    await this.placement.setCapacity();
    await this.tasks.start(this.placing);
  }

  async drain(): Promise<void> {
    await this.placing.stop();
    await this.worker.drain(this.settings.shutdownGrace);
    this.unsubscribe?.();
    await this.sweeper.stop();
  }

  /** Offers what the worker can start now, up to twenty in a round trip. `again`: there may be more. */
  private async place(): Promise<'again' | void> {
    const max = Math.min(OFFERS_AT_ONCE, await this.worker.capacity());
    // The next period repeats this: runners that start now will have claimed their executions by then, or not.
    if (max < 1) return;
    const offers = await this.placement.placeHosted(this.process, max);
    for (const offer of offers) this.worker.execute(offer);
    if (offers.length === max) return 'again';
  }
}
