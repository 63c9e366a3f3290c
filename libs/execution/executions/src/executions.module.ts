import { Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { RunLimitEnforcer } from './application/run-limit-enforcer.js';
import { ClaimExecution } from './application/claim-execution.js';
import { DebugEventHandler } from './application/debug-event-handler.js';
import { ApprovalsService } from './application/approvals.service.js';
import { DisabledUsers } from './application/disabled-users.js';
import { ExecutionFinalizer } from './application/execution-finalizer.js';
import { FinishExecution } from './application/finish-execution.js';
import { IdleSessions } from './application/idle-sessions.js';
import { PlaceRuns } from './application/place-runs.js';
import { PlacementNudge } from './application/executors.js';
import { ReportEvents } from './application/report-events.js';
import { RunEventHandler } from './application/run-event-handler.js';
import { RunTail } from './application/run-tail.js';
import { RunStateListeners } from './application/run-state-listeners.js';
import { RestartPolicy } from './application/restart-policy.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { Transcripts } from './application/transcripts.js';
import { QueueNudge } from './jobs/queue-nudge.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { RunLimitsStore } from './persistence/run-limits.store.js';
import { DebugSessionsStore } from './persistence/debug-sessions.store.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { RunLogStore } from './persistence/run-log.store.js';
import { RunTransitions } from './persistence/run-transitions.store.js';

const internal = [DebugEventHandler, DisabledUsers, RunLimitEnforcer, RunEventHandler, RestartPolicy];
const shared = [
  ApprovalsService,
  ApprovalsStore,
  RunLimitsStore,
  ClaimExecution,
  DebugSessionsStore,
  ExecutionFinalizer,
  ExecutionsStore,
  FinishExecution,
  FollowupsStore,
  IdleSessions,
  PlaceRuns,
  ReportEvents,
  RunLogStore,
  RunTransitions,
  RunTail,
  RunStateListeners,
  SweepExecutions,
  Transcripts,
];

/** Executions and the log of runs, for every process. Needs an `AssignmentSource` from a global module. */
@Module({
  imports: [StorageModule],
  providers: [...internal, ...shared, { provide: PlacementNudge, useClass: QueueNudge }],
  exports: [...shared, PlacementNudge],
})
export class ExecutionsModule {}
