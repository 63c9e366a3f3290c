import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { SWEEP_DISCARDED_OBJECTS_JOB } from './jobs/disposal-jobs.js';
import { DisposalProcessor } from './jobs/disposal.processor.js';
import { StorageModule } from './storage.module.js';

/** The store's background work, for the processor: deleting discarded objects. */
@Module({
  imports: [StorageModule, BullModule.registerQueue({ name: SWEEP_DISCARDED_OBJECTS_JOB.queue })],
  providers: [DisposalProcessor],
})
export class StorageJobsModule {}
