import { Module } from '@nestjs/common';
import { EnvironmentsModule } from '#domain/environments';
import { NotificationsModule } from '#domain/notifications';
import { RunsModule } from '#domain/runs';
import { ForgeConnections } from './adapters/forge-connection.js';
import { OpenForge } from './application/open-forge.js';
import { RunAnswers } from './application/run-answers.js';
import { SendAnswers } from './application/send-answers.js';
import { AnswerSending } from './jobs/answer-sending.js';
import { AnswersStore } from './persistence/answers.store.js';

/** For the library that starts runs for events. */
@Module({
  imports: [EnvironmentsModule, NotificationsModule, RunsModule],
  providers: [AnswersStore, ForgeConnections, OpenForge, RunAnswers, SendAnswers],
  exports: [RunAnswers, SendAnswers],
})
export class AnswersModule {}

/** For the processor. */
@Module({ imports: [AnswersModule], providers: [AnswerSending] })
export class AnswersJobsModule {}
