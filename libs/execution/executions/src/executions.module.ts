import { Global, Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { WorkersModule, WorkerTasks } from '#execution/worker-gateway';
import { Settings } from '#platform/config';
import { dockerBackend, kubernetesBackend, processBackend } from './adapters/hosted-backends.js';
import { QueueMetrics } from './persistence/queue-metrics.js';
import { RunMetrics } from './adapters/run-metrics.js';
import { RunTraces } from './adapters/run-traces.js';
import { SnapshotObjects } from './adapters/snapshot-objects.js';
import { ApprovalsService } from './application/approvals.service.js';
import { BackendRegistry } from './application/backend-registry.js';
import { ClaimExecution } from './application/claim-execution.js';
import { ExecutionFinalizer } from './application/execution-finalizer.js';
import { ExecutionWork } from './application/execution-work.js';
import { FinishExecution } from './application/finish-execution.js';
import { HostedWorker } from './application/hosted-worker.js';
import { IdleSessions } from './application/idle-sessions.js';
import { ReadCommands } from './application/read-commands.js';
import { ReportEvents } from './application/report-events.js';
import { RunEventHandler } from './application/run-event-handler.js';
import { RunLimitEnforcer } from './application/run-limit-enforcer.js';
import { RunStopper } from './application/run-stopper.js';
import { RunTail } from './application/run-tail.js';
import { RunWaits } from './application/run-waits.js';
import { RunWorkerTasks } from './application/run-worker-tasks.js';
import { SnapshotFiles } from './application/snapshot-files.js';
import { Snapshots } from './application/snapshots.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { Transcripts } from './application/transcripts.js';
import { TurnInterrupter } from './application/turn-interrupter.js';
import { WorkerMessages } from './application/worker-messages.js';
import { WorkerPlacement } from './application/worker-placement.js';
import { RunnerTransfers } from './http/runner-transfers.js';
import { RunnerSnapshotsController } from './http/runner-snapshots.controller.js';
import { RunnerController } from './http/runner.controller.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { EventBatchesStore } from './persistence/event-batches.store.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { HostedExecutionsStore } from './persistence/hosted-executions.store.js';
import { InterruptsStore } from './persistence/interrupts.store.js';
import { PlacementStore } from './persistence/placement.store.js';
import { RunLimitsStore } from './persistence/run-limits.store.js';
import { RunLogStore, RunStateListeners } from './persistence/run-log.store.js';
import { RunTracesStore } from './persistence/run-traces.store.js';
import { RunTransitions } from './persistence/run-transitions.store.js';
import { RunWaitsStore } from './persistence/run-waits.store.js';
import { SnapshotsStore } from './persistence/snapshots.store.js';
import { WorkerExecutionsStore } from './persistence/worker-executions.store.js';
import { WorkerOffersStore } from './persistence/worker-offers.store.js';

const shared = [
  ApprovalsService,
  ExecutionFinalizer,
  ExecutionsStore,
  FinishExecution,
  FollowupsStore,
  IdleSessions,
  PlacementStore,
  RunLimitEnforcer,
  RunLimitsStore,
  RunLogStore,
  RunStopper,
  RunTail,
  RunTransitions,
  SnapshotFiles,
  Snapshots,
  SnapshotsStore,
  SweepExecutions,
  Transcripts,
  TurnInterrupter,
];

/** Executions and the log of runs, for every process. Needs an `AssignmentSource` from a global module. */
@Module({
  imports: [StorageModule],
  providers: [
    ...shared,
    ApprovalsStore,
    InterruptsStore,
    RunMetrics,
    RunStateListeners,
    RunTraces,
    RunTracesStore,
    SnapshotObjects,
  ],
  exports: shared,
})
export class ExecutionsModule {}

/** Global, because the gateway of workers, which this library imports, uses `WorkerTasks`. */
@Global()
@Module({
  imports: [ExecutionsModule, WorkersModule],
  controllers: [RunnerController, RunnerSnapshotsController],
  providers: [
    ClaimExecution,
    ReadCommands,
    RunnerTransfers,
    EventBatchesStore,
    ReportEvents,
    RunEventHandler,
    RunWaits,
    RunWaitsStore,
    WorkerExecutionsStore,
    WorkerOffersStore,
    WorkerMessages,
    WorkerPlacement,
    { provide: WorkerTasks, useClass: RunWorkerTasks },
  ],
  exports: [RunnerTransfers, RunWaits, WorkerTasks],
})
export class ExecutionsHttpModule {}

/** Places, executes and sweeps hosted runs. */
@Module({
  imports: [ExecutionsModule],
  providers: [BackendRegistry, HostedExecutionsStore, HostedWorker, ExecutionWork, QueueMetrics],
  exports: [ExecutionsModule, ExecutionWork],
})
export class HostedExecutionModule {
  constructor(registry: BackendRegistry, settings: Settings) {
    registry.register('process', () => processBackend(settings));
    registry.register('docker', () => dockerBackend(settings));
    registry.register('kubernetes', () => kubernetesBackend(settings));
  }
}
