import { Module } from '@nestjs/common';
import { CommandSignals } from './application/execution/command-signals.js';
import { ReadCommands } from './application/execution/read-commands.js';
import { CreateRunController } from './http/create-run.controller.js';
import { ApprovalsController, RunHistoryController } from './http/run-history.controller.js';
import { RunPresenter } from './http/run-presenter.js';
import { RunnerController, RunnerStreamsController } from './http/runner.controller.js';
import { RunsController } from './http/runs.controller.js';
import { AuthModule } from '#libs/auth';
import { RunsModule } from './runs.module.js';

/** The room's HTTP side: the public operations and the runner protocol. */
@Module({
  imports: [RunsModule, AuthModule],
  controllers: [
    CreateRunController,
    RunsController,
    RunHistoryController,
    ApprovalsController,
    RunnerController,
    RunnerStreamsController,
  ],
  providers: [RunPresenter, CommandSignals, ReadCommands],
})
export class RunsHttpModule {}
