import { Injectable, Module } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Executor, ExecutorsModule, Placement, Sweeper } from '#execution/executions';
import { RunMaintenance } from './jobs/run-maintenance.js';
import { RunsModule } from './runs.module.js';

/** Starts the placement of runs, and stops the background work in order before the application closes. */
@Injectable()
export class RunsWork {
  constructor(
    private readonly placement: Placement,
    private readonly executor: Executor,
    private readonly sweeper: Sweeper,
    private readonly maintenance: RunMaintenance,
    private readonly settings: Settings,
  ) {}

  /** Called when everything else has started; rejects when the executor cannot work with these settings. */
  async start(): Promise<void> {
    await this.placement.start();
  }

  async drain(): Promise<void> {
    const maintenanceStopped = this.maintenance.stop();
    await this.placement.stop();
    await this.executor.drain(this.settings.shutdownGrace);
    await this.sweeper.stop();
    await maintenanceStopped;
  }
}

/** Background work: placement, the sweeper, maintenance. */
@Module({
  imports: [RunsModule, ExecutorsModule],
  providers: [RunMaintenance, RunsWork],
  exports: [RunsWork, ExecutorsModule],
})
export class RunsJobsModule {}
