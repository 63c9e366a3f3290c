import { Global, Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { DockerExecutor } from './adapters/docker/docker-executor.js';
import { ExecutionQueries } from './adapters/execution-queries.js';
import { ProcessExecutor } from './adapters/process-executor.js';
import { ApprovalsService } from './application/approvals.service.js';
import { ClaimExecution } from './application/claim-execution.js';
import { ExecutionFinalizer } from './application/execution-finalizer.js';
import { ExecutorRegistry } from './application/executors.js';
import { FinishExecution } from './application/finish-execution.js';
import { IdleSessions } from './application/idle-sessions.js';
import { ExecutionWork, PlaceRuns } from './application/place-runs.js';
import { ReadCommands } from './application/read-commands.js';
import { ReportEvents } from './application/report-events.js';
import { RunEventHandler } from './application/run-event-handler.js';
import { RunLimitEnforcer } from './application/run-limit-enforcer.js';
import { RunStopper } from './application/run-stopper.js';
import { RunTail } from './application/run-tail.js';
import { RunWorkerTasks } from './application/run-worker-tasks.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { Transcripts } from './application/transcripts.js';
import { WorkerMessages } from './application/worker-messages.js';
import { WorkerPlacement } from './application/worker-placement.js';
import { RunnerController } from './http/runner.controller.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { RunLimitsStore } from './persistence/run-limits.store.js';
import { RunLogStore, RunStateListeners } from './persistence/run-log.store.js';
import { RunTransitions } from './persistence/run-transitions.store.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';

const shared = [
  ApprovalsService,
  ExecutionFinalizer,
  ExecutionsStore,
  FinishExecution,
  FollowupsStore,
  IdleSessions,
  PlaceRuns,
  RunLimitEnforcer,
  RunLimitsStore,
  RunLogStore,
  RunStateListeners,
  RunStopper,
  RunTail,
  RunTransitions,
  SweepExecutions,
  Transcripts,
];

/** Executions and the log of runs, for every process. Needs an `AssignmentSource` from a global module. */
@Module({ imports: [StorageModule], providers: [...shared, ApprovalsStore], exports: shared })
export class ExecutionsModule {}

/** Global, because the gateway of workers, which this library imports, uses `WorkerTasks`. */
@Global()
@Module({
  imports: [ExecutionsModule, WorkersModule],
  controllers: [RunnerController],
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

/** Where runs are executed, and who places and sweeps them. A module that adds an executor imports it and registers the executor with `ExecutorRegistry`. */
@Module({
  imports: [ExecutionsModule],
  providers: [ExecutorRegistry, ExecutionQueries, ProcessExecutor, DockerExecutor, ExecutionWork],
  exports: [ExecutionsModule, ExecutorRegistry, ExecutionWork],
})
export class ExecutorsModule {
  constructor(registry: ExecutorRegistry, processes: ProcessExecutor, docker: DockerExecutor) {
    registry.register('process', processes);
    registry.register('docker', docker);
  }
}
