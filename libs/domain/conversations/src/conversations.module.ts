import { Module } from '@nestjs/common';
import { RunsModule } from '#domain/runs';
import { AuthModule } from '#platform/auth';
import { RunEventStreams } from './application/live/run-event-streams.js';
import { WatchedRuns, StreamLimiter } from './application/live/watched-runs.js';
import { ConversationProjectionStore } from './persistence/conversation-projections.store.js';
import { NormalizerRegistry, HeadraceEventsNormalizer } from './application/normalizer-registry.js';
import { ConversationResponses } from './application/conversation-responses.js';
import { ConversationReader } from './application/conversation-reader.js';
import { StandardTranscriptFormats, TranscriptFormatRegistry } from './application/transcript-formats.js';
import { ConversationsController, RunPageController } from './http/conversations.controller.js';
import { RunEventsController } from './http/run-events.controller.js';

@Module({
  imports: [RunsModule],
  providers: [
    NormalizerRegistry,
    HeadraceEventsNormalizer,
    TranscriptFormatRegistry,
    StandardTranscriptFormats,
    ConversationProjectionStore,
    ConversationReader,
    ConversationResponses,
    WatchedRuns,
    StreamLimiter,
    RunEventStreams,
  ],
  exports: [TranscriptFormatRegistry, ConversationReader, ConversationResponses, RunEventStreams, StreamLimiter],
})
export class ConversationsModule {}

@Module({
  imports: [ConversationsModule, RunsModule, AuthModule],
  controllers: [ConversationsController, RunEventsController, RunPageController],
})
export class ConversationsHttpModule {}
