import { BullModule } from '@nestjs/bullmq';
import { Injectable, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Settings } from '#libs/config';
import { ProcessExecutor } from './adapters/process-executor.js';
import { Executor } from './application/ports.js';
import { RepairFacets } from './application/repair-facets.js';
import { PRUNE_IDEMPOTENCY_KEYS_JOB } from './jobs/maintenance-jobs.js';
import { MaintenanceProcessor } from './jobs/maintenance.processor.js';
import { Placement } from './jobs/placement.js';
import { PlacementProcessor } from './jobs/placement.processor.js';
import { RetentionRounds } from './jobs/retention-rounds.js';
import { Sweeper } from './jobs/sweeper.js';
import { RunsModule } from './runs.module.js';

/** Stops the room's work in order, before the application closes. */
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

  async drain(): Promise<void> {
    this.retention.stop();
    this.repairFacets.stop();
    await this.placement.stop();
    await this.executor.drain(this.settings.shutdownGrace);
    await this.sweeper.stop();
  }
}

/** The room's background work: placing runs, sweeping, housekeeping. */
@Module({
  imports: [RunsModule, ScheduleModule.forRoot(), BullModule.registerQueue({ name: PRUNE_IDEMPOTENCY_KEYS_JOB.queue })],
  providers: [
    { provide: Executor, useClass: ProcessExecutor },
    Placement,
    PlacementProcessor,
    Sweeper,
    MaintenanceProcessor,
    RetentionRounds,
    RunsWork,
  ],
  exports: [RunsWork, Executor],
})
export class RunsJobsModule {}
