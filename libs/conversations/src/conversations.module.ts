import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { RunsModule } from '#libs/runs';
import { NormalizerRegistry } from './application/normalizer-registry.js';
import { HeadraceEventsNormalizer } from './application/normalizers/headrace-events.normalizer.js';
import { ReadConversation } from './application/read-conversation.js';
import { ConversationFolds } from './persistence/conversation-folds.js';

/** The conversations room: folds of the runs' log, and the normalizers that make them. */
@Module({
  imports: [DiscoveryModule, RunsModule],
  providers: [NormalizerRegistry, HeadraceEventsNormalizer, ConversationFolds, ReadConversation],
  exports: [NormalizerRegistry, ReadConversation],
})
export class ConversationsModule {}
