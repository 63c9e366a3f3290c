import { Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { ApprovalsService } from './application/approvals.service.js';
import { ExecutionFinalizer } from './application/execution-finalizer.js';
import { FinishExecution } from './application/finish-execution.js';
import { IdleSessions } from './application/idle-sessions.js';
import { PlaceRuns } from './application/place-runs.js';
import { RunLimitEnforcer } from './application/run-limit-enforcer.js';
import { RunStopper } from './application/run-stopper.js';
import { RunTail } from './application/run-tail.js';
import { SweepExecutions } from './application/sweep-executions.js';
import { Transcripts } from './application/transcripts.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { RunLimitsStore } from './persistence/run-limits.store.js';
import { RunLogStore, RunStateListeners } from './persistence/run-log.store.js';
import { RunTransitions } from './persistence/run-transitions.store.js';

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
