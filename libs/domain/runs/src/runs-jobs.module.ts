import { Injectable, Module } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Executor } from './application/ports.js';
import { ExecutorsModule } from './executors.module.js';
import { Placement } from './jobs/placement.js';
import { RunMaintenance } from './jobs/run-maintenance.js';
import { Sweeper } from './jobs/sweeper.js';
import { RunsModule } from './runs.module.js';

/** Starts placing runs, and stops the room's work in order before the application closes. */
@Injectable()
export class RunsWork {
  constructor(
    private readonly placement: Placement,
    private readonly executor: Executor,
    private readonly sweeper: Sweeper,
    private readonly maintenance: RunMaintenance,
    private readonly settings: Settings,
  ) {}

  /** Begins to place runs. To be called once everything else is there; rejects when runs cannot be carried out as set up. */
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

/** The room's background work: placing runs, sweeping, housekeeping. */
@Module({
  imports: [RunsModule, ExecutorsModule],
  providers: [Placement, Sweeper, RunMaintenance, RunsWork],
  exports: [RunsWork, ExecutorsModule],
})
export class RunsJobsModule {}
