import { Module } from '@nestjs/common';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { ClaimExecution } from './application/claim-execution.js';
import { ReadCommands } from './application/read-commands.js';
import { ReportEvents } from './application/report-events.js';
import { RunEventHandler } from './application/run-event-handler.js';
import { RunWorkerTasks } from './application/run-worker-tasks.js';
import { WorkerMessages } from './application/worker-messages.js';
import { WorkerPlacement } from './application/worker-placement.js';
import { ExecutionsModule } from './executions.module.js';
import { RunnerController, RunnerStreamsController } from './http/runner.controller.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';

/** The runner protocol, and the tasks of self-hosted workers: for the processes that serve the API. */
@Module({
  imports: [ExecutionsModule, WorkersModule],
  controllers: [RunnerController, RunnerStreamsController],
  providers: [
    ClaimExecution,
    ReadCommands,
    ReportEvents,
    RunEventHandler,
    WorkerExecutionsStore,
    WorkerOffersStore,
    WorkerMessages,
    WorkerPlacement,
    { provide: WorkerTasks, useClass: RunWorkerTasks },
  ],
  exports: [WorkerTasks],
})
export class ExecutionsHttpModule {}
