import { Global, Module } from '@nestjs/common';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { CommandSignals, ReadCommands } from './application/read-commands.js';
import { RunWorkerTasks } from './application/run-worker-tasks.js';
import { WorkerDispatcher } from './application/worker-dispatcher.js';
import { WorkerMessages } from './application/worker-messages.js';
import { WorkerPlacement } from './application/worker-placement.js';
import { ExecutionsModule } from './executions.module.js';
import { RunnerController, RunnerStreamsController } from './http/runner.controller.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';

/**
 * The runner protocol, and the tasks of self-hosted workers: for the processes that serve the API. Global, because the
 * gateway of workers, which this library imports, uses `WorkerTasks`.
 */
@Global()
@Module({
  imports: [ExecutionsModule, WorkersModule],
  controllers: [RunnerController, RunnerStreamsController],
  providers: [
    CommandSignals,
    ReadCommands,
    WorkerExecutionsStore,
    WorkerOffersStore,
    WorkerMessages,
    WorkerDispatcher,
    WorkerPlacement,
    { provide: WorkerTasks, useClass: RunWorkerTasks },
  ],
  exports: [WorkerTasks],
})
export class ExecutionsHttpModule {}
