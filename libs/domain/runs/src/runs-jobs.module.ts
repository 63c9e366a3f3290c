import { BullModule } from '@nestjs/bullmq';
import { Injectable, Module } from '@nestjs/common';
import { Settings } from '#platform/config';
import { Executor, ExecutorsModule, Placement, Sweeper } from '#execution/executions';
import { RepairFacets } from './application/repair-facets.js';
import { PRUNE_IDEMPOTENCY_KEYS_JOB } from './jobs/maintenance-jobs.js';
import { MaintenanceProcessor } from './jobs/maintenance.processor.js';
import { RetentionRounds } from './jobs/retention-rounds.js';
import { RunsModule } from './runs.module.js';

/** Starts the placement of runs, and stops the background work in order before the application closes. */
@Injectable()
export class RunsWork {
  constructor(
    private readonly placement: Placement,
    private readonly executor: Executor,
    private readonly sweeper: Sweeper,
    private readonly retention: RetentionRounds,
    private readonly repairFacets: RepairFacets,
    private readonly settings: Settings,
  ) {}

  /** Called when everything else has started; rejects when the executor cannot work with these settings. */
  async start(): Promise<void> {
    await this.placement.start();
  }

  async drain(): Promise<void> {
    this.retention.stop();
    this.repairFacets.stop();
    await this.placement.stop();
    await this.executor.drain(this.settings.shutdownGrace);
    await this.sweeper.stop();
  }
}

/** Background work: placement, the sweeper, maintenance. */
@Module({
  imports: [RunsModule, ExecutorsModule, BullModule.registerQueue({ name: PRUNE_IDEMPOTENCY_KEYS_JOB.queue })],
  providers: [MaintenanceProcessor, RetentionRounds, RunsWork],
  exports: [RunsWork, ExecutorsModule],
})
export class RunsJobsModule {}
