import { Module } from '@nestjs/common';
import { ExecutionsHttpModule } from '#execution/executions';
import { AuthModule } from '#platform/auth';
import { ApprovalInboxController, ApprovalsController } from './http/approvals.controller.js';
import { ArtifactsController, ExternalReferenceController } from './http/artifacts.controller.js';
import { CreateRunController } from './http/create-run.controller.js';
import { RunPresenter } from './http/run-presenter.js';
import { RunnerFilesController } from './http/runner-files.controller.js';
import { RunsController } from './http/runs.controller.js';
import { RunsModule } from './runs.module.js';

/** The operations on runs, and what runners report and read about their artifacts and attachments. */
@Module({
  imports: [RunsModule, AuthModule, ExecutionsHttpModule],
  controllers: [
    CreateRunController,
    RunsController,
    ApprovalsController,
    ApprovalInboxController,
    ArtifactsController,
    ExternalReferenceController,
    RunnerFilesController,
  ],
  providers: [RunPresenter],
})
export class RunsHttpModule {}
