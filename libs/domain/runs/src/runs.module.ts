import { Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { AuthModule } from '#platform/auth';
import { EnvironmentsModule } from '#domain/environments';
import { SecretsModule } from '#platform/secrets';
import { StorageModule } from '#platform/storage';
import { ApprovalInbox } from './application/approval-inbox.js';
import { ArtifactReports } from './application/artifact-reports.js';
import { Artifacts } from './application/artifacts.js';
import { Attachments } from './application/attachments.js';
import { CancelRun } from './application/cancel-run.js';
import { ConfigReferences } from './application/config-references.js';
import { CreateRun, RunParts } from './application/create-run.js';
import { RegisterExternalRun } from './application/register-external-run.js';
import { LastSkillRuns } from './application/last-skill-runs.js';
import { UnfinishedRuns } from './application/unfinished-runs.js';
import { LaunchedRuns } from './application/launched-runs.js';
import { DecideApproval } from './application/decide-approval.js';
import { Assignments, ClaimExecution } from './application/execution/claim-execution.js';
import { EnvironmentLastRuns } from './application/environment-last-runs.js';
import { EnvironmentOutcomes } from './application/execution/environment-outcomes.js';
import { ExecutionEndings } from './application/execution/execution-endings.js';
import { FinishExecution } from './application/execution/finish-execution.js';
import { HarnessSecrets } from './application/execution/harness-secrets.js';
import { RunServers } from './application/execution/run-servers.js';
import { IdleSessions } from './application/execution/idle-sessions.js';
import { PlaceRuns } from './application/execution/place-runs.js';
import { RunCeilings } from './application/execution/ceilings.js';
import { DebugEffects } from './application/execution/debug-effects.js';
import { DisabledUsers } from './application/execution/disabled-users.js';
import { PermissionEffects } from './application/execution/permission-effects.js';
import { RunEffects } from './application/execution/run-effects.js';
import { EventEffects, ReportEvents, ReportStores } from './application/execution/report-events.js';
import { Sequels } from './application/execution/sequels.js';
import { SweepExecutions } from './application/execution/sweep-executions.js';
import { Transcripts } from './application/execution/transcripts.js';
import { ListGate } from './application/list-gate.js';
import { ListRuns } from './application/list-runs.js';
import { ConfigSecrets } from './application/config-secrets.js';
import { McpSecrets } from './application/mcp-secrets.js';
import { PlacementNudge } from './application/ports.js';
import { PersonalRunPolicy } from './application/personal-run-policy.js';
import { ReadTimeline } from './application/read-timeline.js';
import { RepairFacets } from './application/repair-facets.js';
import { PruneRuns } from './application/retention/prune-runs.js';
import { RunDataOwners } from './application/retention/run-data-owners.js';
import { RunAccess } from './application/run-access.js';
import { RunConversations } from './application/run-conversations.js';
import { RunLog, StoredRunLog } from './application/run-log.js';
import { RunReferences } from './application/run-references.js';
import { RunSkills } from './application/run-skills.js';
import { RunTail } from './application/run-tail.js';
import { RunTransitions } from './application/run-transitions.js';
import { FollowupStores, SubmitFollowup } from './application/submit-followup.js';
import { QueueNudge } from './jobs/queue-nudge.js';
import { ApprovalInboxStore } from './persistence/approval-inbox.store.js';
import { ApprovalsStore } from './persistence/approvals.store.js';
import { ArtifactsStore } from './persistence/artifacts.store.js';
import { CeilingsStore } from './persistence/ceilings.store.js';
import { AttachmentsStore } from './persistence/attachments.store.js';
import { ConversationRunsStore } from './persistence/conversation-runs.store.js';
import { DebugSessionsStore } from './persistence/debug-sessions.store.js';
import { EnvironmentRunsStore } from './persistence/environment-runs.store.js';
import { ExternalRunInserts } from './persistence/external-run-inserts.js';
import { ExecutionsStore } from './persistence/executions.store.js';
import { FacetRepairsStore } from './persistence/facet-repairs.store.js';
import { FollowupsStore } from './persistence/followups.store.js';
import { GroupedClaimedInserts } from './persistence/grouped-claimed-inserts.js';
import { GroupedRunInserts } from './persistence/grouped-run-inserts.js';
import { RestartsStore } from './persistence/restarts.store.js';
import { RetentionDeletesStore } from './persistence/retention-deletes.store.js';
import { RetentionWalksStore } from './persistence/retention-walks.store.js';
import { RunInserts } from './persistence/run-inserts.js';
import { RunLists } from './persistence/run-lists.js';
import { RunLogStore } from './persistence/run-log.store.js';
import { RunMoves } from './persistence/run-moves.js';
import { RunQueries } from './persistence/run-queries.js';
import { RunSessions } from './persistence/run-sessions.js';
import { SkillRunsStore } from './persistence/skill-runs.store.js';

const stores = [
  GroupedRunInserts,
  GroupedClaimedInserts,
  ExternalRunInserts,
  RunInserts,
  RunLists,
  RunQueries,
  RunMoves,
  RunSessions,
  RunLogStore,
  ExecutionsStore,
  DebugSessionsStore,
  RestartsStore,
  FollowupsStore,
  ApprovalsStore,
  ApprovalInboxStore,
  CeilingsStore,
  ArtifactsStore,
  AttachmentsStore,
  ConversationRunsStore,
  RetentionWalksStore,
  RetentionDeletesStore,
  FacetRepairsStore,
  EnvironmentRunsStore,
  SkillRunsStore,
];
const useCases = [
  RunAccess,
  PersonalRunPolicy,
  RunTail,
  CreateRun,
  RegisterExternalRun,
  LaunchedRuns,
  UnfinishedRuns,
  RunParts,
  RunReferences,
  RunSkills,
  LastSkillRuns,
  ConfigReferences,
  McpSecrets,
  ConfigSecrets,
  ListGate,
  ListRuns,
  EnvironmentLastRuns,
  CancelRun,
  SubmitFollowup,
  FollowupStores,
  ReadTimeline,
  DecideApproval,
  ApprovalInbox,
  Transcripts,
  Artifacts,
  ArtifactReports,
  Attachments,
  RunConversations,
  PruneRuns,
  RepairFacets,
  RunDataOwners,
  RunTransitions,
];
const execution = [
  Assignments,
  HarnessSecrets,
  RunServers,
  ClaimExecution,
  DisabledUsers,
  ReportEvents,
  ReportStores,
  EventEffects,
  RunEffects,
  DebugEffects,
  PermissionEffects,
  RunCeilings,
  FinishExecution,
  ExecutionEndings,
  Sequels,
  EnvironmentOutcomes,
  IdleSessions,
  PlaceRuns,
  SweepExecutions,
];

/** The runs room: runs, executions, leases and the event log. */
@Module({
  imports: [AgentsModule, AuthModule, EnvironmentsModule, SecretsModule, StorageModule],
  providers: [
    ...stores,
    ...useCases,
    ...execution,
    { provide: PlacementNudge, useClass: QueueNudge },
    { provide: RunLog, useClass: StoredRunLog },
  ],
  exports: [...stores, ...useCases, ...execution, PlacementNudge, RunLog],
})
export class RunsModule {}
