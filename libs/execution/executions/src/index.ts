export { AssignmentSource, type BuiltAssignment, type OfferDescription } from './application/assignment-source.js';
export { DecideApproval } from './application/decide-approval.js';
export { ExecutorRegistry } from './application/executor-registry.js';
export { FinishExecution } from './application/finish-execution.js';
export { Executor, type Offer, PlacementNudge } from './application/ports.js';
export { type RunHead, RunTail } from './application/run-tail.js';
export { type RunChange, RunTransitions, RunTransitionSink } from './application/run-transitions.js';
export { SweepExecutions } from './application/sweep-executions.js';
export { Transcripts } from './application/transcripts.js';
export { UnfinishedRuns } from './application/unfinished-runs.js';
export {
  type Approval,
  APPROVAL_DECISIONS,
  APPROVAL_STATES,
  type ApprovalDecisionWord,
  type ApprovalState,
  DECISION_MAKERS,
} from './domain/approval.js';
export { hasCeilings, reachedCeiling, tokensOf } from './domain/ceilings.js';
export { withDebugWindow } from './domain/debug-window.js';
export { ExecutionTokens } from './domain/execution-token.js';
export { type FollowupOutcome, type FollowupSession, routeFollowup } from './domain/followup-routing.js';
export { STOP_FENCE_MS } from './domain/lease.js';
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
} from './domain/run.js';
export { withWaitingReason } from './domain/waiting-reason.js';
export { ExecutionsHttpModule } from './executions-http.module.js';
export { ExecutionsModule } from './executions.module.js';
export { ExecutorsModule } from './executors.module.js';
export { LeaseParameters } from './http/dto/runner-messages.dto.js';
export { ExecutionTokenGuard } from './http/execution-token.guard.js';
export { leaseLost } from './http/runner.controller.js';
export { SanitizeBody } from './http/sanitize-body.interceptor.js';
export { Placement } from './jobs/placement.js';
export { Sweeper } from './jobs/sweeper.js';
export { ApprovalsStore } from './persistence/approvals.store.js';
export { CeilingsStore } from './persistence/ceilings.store.js';
export { DebugSessionsStore } from './persistence/debug-sessions.store.js';
export { DEBUG_WINDOW_COLUMNS, type DebugWindowRow, toDebugWindow } from './persistence/debug-window-sql.js';
export { type Execution, ExecutionsStore, LEASED } from './persistence/executions.store.js';
export { FollowupsStore } from './persistence/followups.store.js';
export { RunLogStore } from './persistence/run-log.store.js';
export { RunMoves } from './persistence/run-moves.js';
export { WAITING_REASON } from './persistence/waiting-reason-sql.js';
