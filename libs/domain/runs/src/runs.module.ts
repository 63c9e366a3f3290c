import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '#domain/agents';
import { EnvironmentsModule } from '#domain/environments';
import { AssignmentSource, ExecutionsHttpModule, ExecutionsModule, HostedExecutionModule } from '#execution/executions';
import { AuthModule } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { StorageModule } from '#platform/storage';
import { ApprovalInbox } from './application/approval-inbox.js';
import { ArtifactsService } from './application/artifacts.service.js';
import { Attachments } from './application/attachments.js';
import { CancelChildRuns } from './application/cancel-child-runs.js';
import { ChildRuns } from './application/child-runs.js';
import { ConcurrentRuns } from './application/concurrent-runs.js';
import { ConfigSecrets } from './application/config-secrets.js';
import { CreateKeyedRun } from './application/create-keyed-run.js';
import { CreateRun } from './application/create-run.js';
import { FollowupAttachments } from './application/followup-attachments.js';
import { ForkRun } from './application/fork-run.js';
import { HarnessSecrets } from './application/harness-secrets.js';
import { LastRunsOfCaller } from './application/last-runs.js';
import { ListRuns } from './application/list-runs.js';
import { PersonalRunPolicy } from './application/personal-run-policy.js';
import { RunEnvironmentPolicy } from './application/run-environment-policy.js';
import { PruneRuns, RunDataOwners } from './application/prune-runs.js';
import { CollectRunWords } from './application/collect-run-words.js';
import { RepairFacets } from './application/repair-facets.js';
import { RerunRun } from './application/rerun-run.js';
import { RunAssignments } from './application/run-assignments.js';
import { RunConversations } from './application/run-conversations.js';
import { ConfigReferences, RunReferences } from './application/run-references.js';
import { RunRepositories } from './application/run-repositories.js';
import { RunSnapshots } from './application/run-snapshots.js';
import { LinkDownloads, SnapshotComparisons, SnapshotDownloads } from './application/snapshot-limits.js';
import { RunSkills } from './application/run-skills.js';
import { RunsService } from './application/runs.service.js';
import { SignedDecisions } from './application/signed-decisions.js';
import { SubmitFollowup } from './application/submit-followup.js';
import { ApprovalsController } from './http/approvals.controller.js';
import { ArchivesController } from './http/archives.controller.js';
import { ArtifactsController } from './http/artifacts.controller.js';
import { ForkRunController } from './http/fork-run.controller.js';
import { CreateRunController } from './http/create-run.controller.js';
import { FollowupAttachmentsController } from './http/followup-attachments.controller.js';
import { FollowupsController } from './http/followups.controller.js';
import { RunPresenter } from './http/run-presenter.js';
import { RunnerFilesController } from './http/runner-files.controller.js';
import { RunnerRunsController } from './http/runner-runs.controller.js';
import { RunSnapshotsController } from './http/run-snapshots.controller.js';
import { RunsController } from './http/runs.controller.js';
import { UploadsController } from './http/uploads.controller.js';
import { RunsWork } from './jobs/runs-work.js';
import { ArtifactsStore } from './persistence/artifacts.store.js';
import { ChildRunsStore } from './persistence/child-runs.store.js';
import { ConcurrencyStore } from './persistence/concurrency.store.js';
import { RunWordsStore } from './persistence/run-words.store.js';
import { RetentionStore } from './persistence/retention.store.js';
import { RunInserts } from './persistence/run-inserts.js';
import { RunLists } from './persistence/run-lists.js';
import { RunsStore } from './persistence/runs.store.js';

const EXPORTED = [
  RunsService,
  PersonalRunPolicy,
  RunEnvironmentPolicy,
  CreateRun,
  ForkRun,
  RunSnapshots,
  SnapshotComparisons,
  SnapshotDownloads,
  LinkDownloads,
  ConfigReferences,
  ConfigSecrets,
  ListRuns,
  SubmitFollowup,
  ApprovalInbox,
  ArtifactsService,
  Attachments,
  FollowupAttachments,
  RunConversations,
  SignedDecisions,
  PruneRuns,
  CollectRunWords,
  RepairFacets,
  RunDataOwners,
];

/** Global, because executions, which lie below, ask for their `AssignmentSource`. */
@Global()
@Module({
  imports: [AgentsModule, AuthModule, EnvironmentsModule, ExecutionsModule, SecretsModule, StorageModule],
  providers: [
    ...EXPORTED,
    CancelChildRuns,
    ChildRunsStore,
    RunInserts,
    RunLists,
    RunWordsStore,
    RunsStore,
    ArtifactsStore,
    RetentionStore,
    ConcurrencyStore,
    ConcurrentRuns,
    CreateKeyedRun,
    RunReferences,
    RunRepositories,
    RunSkills,
    RerunRun,
    HarnessSecrets,
    LastRunsOfCaller,
    { provide: AssignmentSource, useClass: RunAssignments },
  ],
  exports: [
    ...EXPORTED,
    CancelChildRuns,
    ChildRunsStore,
    ConcurrentRuns,
    CreateKeyedRun,
    RunsStore,
    RerunRun,
    AssignmentSource,
    ExecutionsModule,
  ],
})
export class RunsModule {}

@Module({ imports: [RunsModule, HostedExecutionModule], providers: [RunsWork], exports: [RunsWork] })
export class RunsJobsModule {}

@Module({
  imports: [AgentsModule, EnvironmentsModule, RunsModule, AuthModule, ExecutionsHttpModule],
  controllers: [
    CreateRunController,
    ForkRunController,
    RunsController,
    RunSnapshotsController,
    FollowupsController,
    FollowupAttachmentsController,
    UploadsController,
    ArchivesController,
    ApprovalsController,
    ArtifactsController,
    RunnerFilesController,
    RunnerRunsController,
  ],
  providers: [ChildRuns, RunPresenter],
})
export class RunsHttpModule {}
