import { Module } from '@nestjs/common';
import { EnvironmentsModule } from '#domain/environments';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { RunWorkerTasks } from './application/workers/run-worker-tasks.js';
import { WorkerDelivery } from './application/workers/worker-delivery.js';
import { WorkerMessages } from './application/workers/worker-messages.js';
import { WorkerOffers } from './application/workers/worker-offers.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';
import { RunsModule } from './runs.module.js';

/** Runs on self-hosted workers: for the processes that hold their sockets. */
@Module({
  imports: [RunsModule, WorkersModule, EnvironmentsModule],
  providers: [
    WorkerExecutionsStore,
    WorkerOffersStore,
    WorkerMessages,
    WorkerDelivery,
    WorkerOffers,
    { provide: WorkerTasks, useClass: RunWorkerTasks },
  ],
  exports: [WorkerTasks],
})
export class WorkerRunsModule {}
