import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { RunsModule } from '#domain/runs';
import { ConversationOpener } from './application/live/conversation-opener.js';
import { FollowRun } from './application/live/follow-run.js';
import { LiveRuns } from './application/live/live-runs.js';
import { LiveStreams } from './application/live/live-streams.js';
import { FoldRemoval } from './application/fold-removal.js';
import { NormalizerRegistry } from './application/normalizer-registry.js';
import { HeadraceEventsNormalizer } from './application/normalizers/headrace-events.normalizer.js';
import { ReadConversation } from './application/read-conversation.js';
import { StandardTranscriptFormats, TranscriptFormatRegistry } from './application/transcript-format-registry.js';
import { ConversationFolds } from './persistence/conversation-folds.js';

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
