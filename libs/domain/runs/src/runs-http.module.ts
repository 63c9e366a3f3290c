import { Module } from '@nestjs/common';
import { ExecutionsHttpModule } from '#execution/executions';
import { ArtifactsController, ExternalReferenceController } from './http/artifacts.controller.js';
import { AttachmentsController, RunnerAttachmentsController } from './http/attachments.controller.js';
import { CreateRunController, ExternalRunsController } from './http/create-run.controller.js';
import { ApprovalInboxController, ApprovalsController } from './http/approvals.controller.js';
import { RunsController } from './http/runs.controller.js';
import { RunPresenter } from './http/run-presenter.js';
import { RunnerArtifactsController } from './http/runner-artifacts.controller.js';
import { AuthModule } from '#platform/auth';
import { RunsModule } from './runs.module.js';

/** The operations on runs, and what runners report and read about their artifacts and attachments. */
@Module({
  imports: [RunsModule, AuthModule, ExecutionsHttpModule],
  controllers: [
    CreateRunController,
    ExternalRunsController,
    RunsController,
    ApprovalsController,
    ApprovalInboxController,
    ArtifactsController,
    ExternalReferenceController,
    AttachmentsController,
    RunnerArtifactsController,
    RunnerAttachmentsController,
  ],
  providers: [RunPresenter],
})
export class RunsHttpModule {}
