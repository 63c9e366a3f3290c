import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { RunsModule } from '#domain/runs';
import { AuthModule } from '#platform/auth';
import { ConversationOpener } from './application/live/conversation-opener.js';
import { FollowRun } from './application/live/follow-run.js';
import { LiveRuns, LiveStreams } from './application/live/live-runs.js';
import { FoldRemoval, ConversationFolds } from './persistence/conversation-folds.js';
import { NormalizerRegistry, HeadraceEventsNormalizer } from './application/normalizer-registry.js';
import { ReadConversation } from './application/read-conversation.js';
import { StandardTranscriptFormats, TranscriptFormatRegistry } from './application/transcript-format-registry.js';
import {
  ConversationsController,
  SessionsController,
  RunConversationController,
} from './http/conversations.controller.js';
import { LiveSources, RunEventsController } from './http/run-events.controller.js';
import { SessionPageController } from './http/session-page.controller.js';

/** The conversations room: folds of the runs' log, and the normalizers that make them. */
@Module({
  imports: [DiscoveryModule, RunsModule],
  providers: [
    NormalizerRegistry,
    HeadraceEventsNormalizer,
    TranscriptFormatRegistry,
    StandardTranscriptFormats,
    ConversationFolds,
    ReadConversation,
    FoldRemoval,
    ConversationOpener,
    LiveRuns,
    LiveStreams,
    FollowRun,
  ],
  exports: [NormalizerRegistry, TranscriptFormatRegistry, ReadConversation, FollowRun, LiveStreams],
})
export class ConversationsModule {}

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
