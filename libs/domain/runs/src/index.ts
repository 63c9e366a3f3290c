export { CancelChildRuns } from './application/cancel-child-runs.js';
export { RunConversations } from './application/run-conversations.js';
export {
  type Concurrent,
  type ConcurrencyPolicy,
  continueOrCreate,
  DEFAULT_DELAY_SECONDS,
  MAX_DELAY_SECONDS,
  MAX_DELAYS,
} from './application/concurrent-runs.js';
export { forgesOf } from './domain/forges.js';
export { RunsService } from './application/runs.service.js';
export { CollectRunWords } from './application/collect-run-words.js';
export { RepairFacets } from './application/repair-facets.js';
export { PruneRuns, RunDataOwner, RunDataOwners } from './application/prune-runs.js';
export { PersonalRunPolicy } from './application/personal-run-policy.js';
export { agentConfigColumn, ConfigSecrets, RUNS_ENCRYPTED_COLUMNS } from './application/config-secrets.js';
export { ConfigReferences } from './application/run-references.js';
export {
  CreateRun,
  type CreateRunCommand,
  type CreateRunResult,
  type LaunchRefusal,
  launchRefusal,
} from './application/create-run.js';
export type { PullRequestStatus } from '#execution/runner-protocol';
export { projectTimeline, type TimelineEvent } from './domain/timeline.js';
export { ARTIFACT_TYPES, type ArtifactType } from './domain/artifact.js';
export { maskConfig } from './domain/resolve-config.js';
export type { Metadata } from './domain/run-filters.js';
export { type AgentConfig, type PrincipalRef, type RunOwner, type RunState, slotKey } from '#execution/executions';
export { type Run, RUN_MODES, type RunMode, type RunSchedule, type RunSourceType } from './domain/run.js';
export {
  type ChannelDecision,
  type ChannelObstacle,
  type DecisionSubject,
  type SignedDecisionResult,
  SignedDecisions,
} from './application/signed-decisions.js';
export { alreadyDecided, type DecisionOutcome } from './domain/decision-outcome.js';
export { MAX_SHOWN_INPUT_BYTES } from './domain/shown-request.js';
export type { DecisionChannel, DecisionChannelType, DecisionChoice, SignedDecision } from './domain/decision-token.js';
export { SubmitFollowup } from './application/submit-followup.js';
export { FollowupAttachments } from './application/followup-attachments.js';
export { ArtifactsService } from './application/artifacts.service.js';
export { IDEMPOTENCY_KEY, idempotencyClaim, IdempotencyKeyHeader, readAgentConfig } from './http/run-request-input.js';
export { AmbientAgentConfig } from './http/dto/agent-config.dto.js';
export { PrincipalInfo, RunAgentResponse, RunScopeInfo } from './http/dto/run-responses.dto.js';
export { CONVERSATION, createRunRefusal, foundOrThrow, interruptRefusal, refuseOversized } from './http/problems.js';
export { facetsOf, type IdempotencyClaim } from './persistence/run-inserts.js';
export { RunsWork } from './jobs/runs-work.js';
export { RunsHttpModule, RunsJobsModule, RunsModule } from './runs.module.js';
