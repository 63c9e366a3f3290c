import { Module } from '@nestjs/common';
import { CommandSignals } from './application/execution/command-signals.js';
import { ReadCommands } from './application/execution/read-commands.js';
import { ArtifactsController } from './http/artifacts.controller.js';
import { AttachmentsController, RunnerAttachmentsController } from './http/attachments.controller.js';
import { CreateRunController } from './http/create-run.controller.js';
import { ExternalRunsController } from './http/external-runs.controller.js';
import { ExternalReferenceController } from './http/external-reference.controller.js';
import { ApprovalInboxController, ApprovalsController } from './http/approvals.controller.js';
import { RunHistoryController } from './http/run-history.controller.js';
import { ListRunsController } from './http/list-runs.controller.js';
import { RunPresenter } from './http/run-presenter.js';
import { RunnerArtifactsController } from './http/runner-artifacts.controller.js';
import { RunnerController, RunnerStreamsController } from './http/runner.controller.js';
import { RunsController } from './http/runs.controller.js';
import { AuthModule } from '#platform/auth';
import { RunsModule } from './runs.module.js';
import { WorkerRunsModule } from './worker-runs.module.js';

/** The room's HTTP side: the public operations and the runner protocol. */
@Module({
  imports: [RunsModule, AuthModule, WorkerRunsModule],
  controllers: [
    CreateRunController,
    ExternalRunsController,
    ListRunsController,
    RunsController,
    RunHistoryController,
    ApprovalsController,
    ApprovalInboxController,
    ArtifactsController,
    ExternalReferenceController,
    AttachmentsController,
    RunnerController,
    RunnerStreamsController,
    RunnerArtifactsController,
    RunnerAttachmentsController,
  ],
  providers: [RunPresenter, CommandSignals, ReadCommands],
})
export class RunsHttpModule {}
