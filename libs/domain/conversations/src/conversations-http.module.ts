import { Module } from '@nestjs/common';
import { AuthModule } from '#platform/auth';
import { RunsModule } from '#domain/runs';
import { ConversationsModule } from './conversations.module.js';
import { ConversationsController, SessionsController } from './http/conversations.controller.js';
import { RunConversationController } from './http/run-conversation.controller.js';
import { LiveSources, RunEventsController } from './http/run-events.controller.js';
import { SessionPageController } from './http/session-page.controller.js';

/** The room's HTTP side. */
@Module({
  imports: [ConversationsModule, RunsModule, AuthModule],
  controllers: [
    RunConversationController,
    RunEventsController,
    ConversationsController,
    SessionsController,
    SessionPageController,
  ],
  providers: [LiveSources],
})
export class ConversationsHttpModule {}
