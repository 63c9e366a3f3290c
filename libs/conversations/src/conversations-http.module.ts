import { Module } from '@nestjs/common';
import { AuthModule } from '#libs/auth';
import { RunsModule } from '#libs/runs';
import { ConversationsModule } from './conversations.module.js';
import { RunConversationController } from './http/run-conversation.controller.js';

/** The room's HTTP side. */
@Module({ imports: [ConversationsModule, RunsModule, AuthModule], controllers: [RunConversationController] })
export class ConversationsHttpModule {}
