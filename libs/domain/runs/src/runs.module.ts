import { Global, Module } from '@nestjs/common';
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
import { AssignmentSource, ExecutionsModule } from '#execution/executions';
import { LaunchedRuns } from './application/launched-runs.js';
import { EnvironmentLastRuns } from './application/environment-last-runs.js';
import { HarnessSecrets } from './application/harness-secrets.js';
import { RunAssignments } from './application/run-assignments.js';
import { SearchLimiter } from './application/list-gate.js';
import { ListRuns } from './application/list-runs.js';
import { ConfigSecrets } from './application/config-secrets.js';
import { McpSecrets } from './application/mcp-secrets.js';
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
import { SubmitFollowup } from './application/submit-followup.js';
import { ApprovalInboxStore } from './persistence/approval-inbox.store.js';
import { ArtifactsStore } from './persistence/artifacts.store.js';
import { AttachmentsStore } from './persistence/attachments.store.js';
import { ConversationRunsStore } from './persistence/conversation-runs.store.js';
import { EnvironmentRunsStore } from './persistence/environment-runs.store.js';
import { ExternalRunInserts } from './persistence/external-run-inserts.js';
import { FacetRepairsStore } from './persistence/facet-repairs.store.js';
import { GroupedClaimedInserts } from './persistence/grouped-claimed-inserts.js';
import { GroupedRunInserts } from './persistence/grouped-run-inserts.js';
import { RetentionDeletesStore } from './persistence/retention-deletes.store.js';
import { RetentionWalksStore } from './persistence/retention-walks.store.js';
import { RunInserts } from './persistence/run-inserts.js';
import { RunLists } from './persistence/run-lists.js';
import { RunQueries } from './persistence/run-queries.js';
import { SkillRunsStore } from './persistence/skill-runs.store.js';

const stores = [
  GroupedRunInserts,
  GroupedClaimedInserts,
  ExternalRunInserts,
  RunInserts,
  RunLists,
  RunQueries,
  ApprovalInboxStore,
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
  CreateRun,
  RegisterExternalRun,
  LaunchedRuns,
  RunParts,
  RunReferences,
  RunSkills,
  LastSkillRuns,
  ConfigReferences,
  HarnessSecrets,
  McpSecrets,
  ConfigSecrets,
  SearchLimiter,
  ListRuns,
  EnvironmentLastRuns,
  CancelRun,
  SubmitFollowup,
  ReadTimeline,
  ApprovalInbox,
  Artifacts,
  ArtifactReports,
  Attachments,
  RunConversations,
  PruneRuns,
  RepairFacets,
  RunDataOwners,
];

/**
 * Runs as a resource: created, listed, cancelled, continued, pruned. Global, because executions, which lie below, ask for
 * their `AssignmentSource`.
 */
@Global()
@Module({
  imports: [AgentsModule, AuthModule, EnvironmentsModule, ExecutionsModule, SecretsModule, StorageModule],
  providers: [
    ...stores,
    ...useCases,
    { provide: AssignmentSource, useClass: RunAssignments },
    { provide: RunLog, useClass: StoredRunLog },
  ],
  exports: [...stores, ...useCases, AssignmentSource, ExecutionsModule, RunLog],
})
export class RunsModule {}
