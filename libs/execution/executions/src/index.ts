export { ApprovalsService } from './application/approvals.service.js';
export { AssignmentSource, type BuiltAssignment, type OfferDescription } from './application/assignment-source.js';
export { ExecutionWork } from './application/execution-work.js';
export { FinishExecution } from './application/finish-execution.js';
export { type RunHead, RunTail } from './application/run-tail.js';
export { RunWaits } from './application/run-waits.js';
export { RunStopper } from './application/run-stopper.js';
export { type InterruptOutcome, TurnInterrupter } from './application/turn-interrupter.js';
export { PLACE_RUNS_TASK } from './application/tasks.js';
export { SnapshotFiles, type SnapshotReader } from './application/snapshot-files.js';
export { Snapshots } from './application/snapshots.js';
export { SweepExecutions } from './application/sweep-executions.js';
export { Transcripts } from './application/transcripts.js';
export {
  type Approval,
  APPROVAL_DECISIONS,
  APPROVAL_STATES,
  type ApprovalDecisionWord,
  type ApprovalState,
  CHANNEL_DECIDERS,
  type ChannelDecider,
  DECISION_MAKERS,
  type GivenDecision,
} from './domain/approval.js';
export { changesBetween, FILE_CHANGES, type FileChange } from './domain/snapshot-changes.js';
export { EXECUTION_PHASE_MACHINE, EXECUTION_PHASES } from './domain/execution-phase.js';
export { ExecutionTokens } from './domain/execution-token.js';
export { type FollowupOutcome, type FollowupSession, routeFollowup } from './domain/followup-routing.js';
export { STOP_FENCE_MS } from './domain/lease.js';
export { hasLimits, reachedLimit, tokensOf } from './domain/run-limits.js';
export { ENDED_STATES, isEnded, RUN_STATE_MACHINE, RUN_STATES, type RunState } from './domain/run-state.js';
export {
  type AgentConfig,
  type DebugWindow,
  DEFAULT_HARNESS,
  EXTERNAL_POOL,
  HOSTED_POOL,
  type McpServerConfig,
  poolOf,
  type PrincipalRef,
  type RunOwner,
  type RunUsage,
  slotKey,
  slotKeys,
  type StatusMessage,
  type WaitingReason,
  withDebugWindow,
  withWaitingReason,
} from './domain/run.js';
export { ExecutionsHttpModule, ExecutionsModule, HostedExecutionModule } from './executions.module.js';
export { ExecutionTokenGuard, LeaseParameters, SanitizeBody, SMALL_BODY } from './http/runner-request.js';
export { leaseLost } from './http/lease-lost.js';
export { EXECUTIONS_ENCRYPTED_COLUMNS } from './adapters/snapshot-objects.js';
export { approvalColumns } from './persistence/approvals.store.js';
export { type Execution, ExecutionsStore, LEASED } from './persistence/executions.store.js';
export { endLeases } from './persistence/end-leases.js';
export { FollowupsStore } from './persistence/followups.store.js';
export { RunLimitsStore } from './persistence/run-limits.store.js';
export { type RunChange, RunLogStore, RunStateListener } from './persistence/run-log.store.js';
export {
  DEBUG_WINDOW_COLUMNS,
  type DebugWindowRow,
  toDebugWindow,
  EXTERNAL_ACCOUNT,
  EXTERNAL_USER,
  WAITING_REASON,
  attachmentRefs,
} from './persistence/run-status-sql.js';
export { SnapshotsStore, type StoredSnapshot } from './persistence/snapshots.store.js';
export { lastMessage } from './persistence/last-message-sql.js';
export { RunTransitions } from './persistence/run-transitions.store.js';
