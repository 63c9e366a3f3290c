import { Module } from '@nestjs/common';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { CommandSignals } from './application/command-signals.js';
import { ReadCommands } from './application/read-commands.js';
import { RunWorkerTasks } from './application/workers/run-worker-tasks.js';
import { WorkerDelivery } from './application/workers/worker-delivery.js';
import { WorkerMessages } from './application/workers/worker-messages.js';
import { WorkerOffers } from './application/workers/worker-offers.js';
import { ExecutionsModule } from './executions.module.js';
import { RunnerController, RunnerStreamsController } from './http/runner.controller.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';

/** The runner protocol, and the tasks of self-hosted workers: for the processes that serve the API. */
@Module({
  imports: [ExecutionsModule, WorkersModule],
  controllers: [RunnerController, RunnerStreamsController],
  providers: [
    CommandSignals,
    ReadCommands,
    WorkerExecutionsStore,
    WorkerOffersStore,
    WorkerMessages,
    WorkerDelivery,
    WorkerOffers,
    { provide: WorkerTasks, useClass: RunWorkerTasks },
  ],
  exports: [WorkerTasks],
})
export class ExecutionsHttpModule {}
