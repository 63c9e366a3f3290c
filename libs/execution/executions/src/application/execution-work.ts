import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AccessChanges } from '#platform/auth';
import { Settings } from '#platform/config';
import { BackgroundTasks, type PeriodicTask } from '#platform/jobs';
import { ExecutorRegistry } from './executors.js';
import { PlaceRuns } from './place-runs.js';
import { SweepExecutions } from './sweep-executions.js';
import { PLACE_RUNS_TASK, SWEEP_EXECUTIONS_TASK } from './tasks.js';

/** Places queued runs on the executor of this process, and sweeps executions. */
@Injectable()
export class ExecutionWork implements OnApplicationBootstrap {
  private readonly placement: PeriodicTask;
  private readonly sweeper: PeriodicTask;
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly placeRuns: PlaceRuns,
    private readonly executors: ExecutorRegistry,
    private readonly changes: AccessChanges,
    private readonly tasks: BackgroundTasks,
    private readonly settings: Settings,
    sweep: SweepExecutions,
  ) {
    // Nothing is placed before the executor is prepared.
    this.placement = tasks.implement(PLACE_RUNS_TASK, () => placeRuns.placeOn(executors.chosen), { startsBy: 'owner' });
    this.sweeper = tasks.implement(SWEEP_EXECUTIONS_TASK, async () => void (await sweep.execute()));
  }

  onApplicationBootstrap(): void {
    this.unsubscribe = this.changes.subscribe(() => this.sweeper.wake());
  }

  async start(): Promise<void> {
    await this.executors.chosen.prepare();
    await this.placeRuns.setCapacity();
    await this.tasks.start(this.placement);
  }

  /** Places no more runs, ends the runners, and then stops sweeping. */
  async drain(): Promise<void> {
    await this.placement.stop();
    await this.executors.chosen.drain(this.settings.shutdownGrace);
    this.unsubscribe?.();
    await this.sweeper.stop();
  }
}
