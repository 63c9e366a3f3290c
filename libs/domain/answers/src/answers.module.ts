import { Module } from '@nestjs/common';
import { EnvironmentsModule } from '#domain/environments';
import { NotificationsModule } from '#domain/notifications';
import { RunsModule } from '#domain/runs';
import { ForgeConnections } from './adapters/forge-connection.js';
import { OpenForge } from './application/open-forge.js';
import { RunAnswers } from './application/run-answers.js';
import { RunComments } from './application/run-comments.js';
import { SendAnswers } from './application/send-answers.js';
import { SendComments } from './application/send-comments.js';
import { RunnerCommentsController } from './http/runner-comments.controller.js';
import { AnswerSending } from './jobs/answer-sending.js';
import { AnswersStore } from './persistence/answers.store.js';
import { CommentsStore } from './persistence/comments.store.js';

/** For the library that starts runs for events. */
@Module({
  imports: [EnvironmentsModule, NotificationsModule, RunsModule],
  providers: [AnswersStore, CommentsStore, ForgeConnections, OpenForge, RunAnswers, SendAnswers, SendComments],
  exports: [AnswersStore, CommentsStore, OpenForge, RunAnswers, SendAnswers, SendComments],
})
export class AnswersModule {}

/** For the processor. */
@Module({ imports: [AnswersModule], providers: [AnswerSending] })
export class AnswersJobsModule {}

@Module({ imports: [AnswersModule], controllers: [RunnerCommentsController], providers: [RunComments] })
export class AnswersHttpModule {}
