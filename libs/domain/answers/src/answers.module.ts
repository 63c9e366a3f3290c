import { Module } from '@nestjs/common';
import { EnvironmentsModule } from '#domain/environments';
import { NotificationsModule } from '#domain/notifications';
import { RunsModule } from '#domain/runs';
import { SecretsModule } from '#platform/secrets';
import { ForgeConnections } from './adapters/forge-connection.js';
import { SlackConnections } from './adapters/slack-connection.js';
import { SlackResponses } from './adapters/slack-responses.js';
import { AnsweredThreads } from './application/answered-threads.js';
import { OpenForge } from './application/open-forge.js';
import { OpenSlack } from './application/open-slack.js';
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
  imports: [EnvironmentsModule, NotificationsModule, RunsModule, SecretsModule],
  providers: [
    AnswersStore,
    CommentsStore,
    ForgeConnections,
    OpenForge,
    SlackConnections,
    SlackResponses,
    OpenSlack,
    AnsweredThreads,
    RunAnswers,
    SendAnswers,
    SendComments,
  ],
  exports: [
    AnswersStore,
    AnsweredThreads,
    CommentsStore,
    OpenForge,
    OpenSlack,
    SlackResponses,
    RunAnswers,
    SendAnswers,
    SendComments,
  ],
})
export class AnswersModule {}

/** For the processor. */
@Module({ imports: [AnswersModule], providers: [AnswerSending] })
export class AnswersJobsModule {}

@Module({ imports: [AnswersModule], controllers: [RunnerCommentsController], providers: [RunComments] })
export class AnswersHttpModule {}
