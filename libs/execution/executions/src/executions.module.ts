import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { RunCeilings } from './application/ceilings.js';
import { ClaimExecution } from './application/claim-execution.js';
import { DebugEffects } from './application/debug-effects.js';
import { DecideApproval } from './application/decide-approval.js';
import { DisabledUsers } from './application/disabled-users.js';
import { ExecutionEndings } from './application/execution-endings.js';
import { FinishExecution } from './application/finish-execution.js';
import { IdleSessions } from './application/idle-sessions.js';
import { PermissionEffects } from './application/permission-effects.js';
import { PlaceRuns } from './application/place-runs.js';
import { PlacementNudge } from './application/ports.js';
import { EventEffects, ReportEvents, ReportStores } from './application/report-events.js';
import { RunEffects } from './application/run-effects.js';
import { RunTail } from './application/run-tail.js';
import { RunTransitions } from './application/run-transitions.js';
import { Sequels } from './application/sequels.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { Transcripts } from './application/transcripts.js';
import { UnfinishedRuns } from './application/unfinished-runs.js';
import { PLACE_RUNS_JOB } from './jobs/placement-jobs.js';
import { QueueNudge } from './jobs/queue-nudge.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { CeilingsStore } from './persistence/ceilings.store.js';
import { DebugSessionsStore } from './persistence/debug-sessions.store.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { RestartsStore } from './persistence/restarts.store.js';
import { RunLogStore } from './persistence/run-log.store.js';
import { RunMoves } from './persistence/run-moves.js';
import { RunSessions } from './persistence/run-sessions.js';

const internal = [
  DebugEffects,
  DisabledUsers,
  EventEffects,
  PermissionEffects,
  ReportStores,
  RestartsStore,
  RunCeilings,
  RunEffects,
  RunSessions,
  Sequels,
];
const shared = [
  ApprovalsStore,
  CeilingsStore,
  ClaimExecution,
  DebugSessionsStore,
  DecideApproval,
  ExecutionEndings,
  ExecutionsStore,
  FinishExecution,
  FollowupsStore,
  IdleSessions,
  PlaceRuns,
  ReportEvents,
  RunLogStore,
  RunMoves,
  RunTail,
  RunTransitions,
  SweepExecutions,
  Transcripts,
  UnfinishedRuns,
];

/** Executions and the log of runs, for every process. Needs an `AssignmentSource` from a global module. */
@Module({
  imports: [StorageModule, BullModule.registerQueue({ name: PLACE_RUNS_JOB.queue })],
  providers: [...internal, ...shared, { provide: PlacementNudge, useClass: QueueNudge }],
  exports: [...shared, PlacementNudge],
})
export class ExecutionsModule {}
