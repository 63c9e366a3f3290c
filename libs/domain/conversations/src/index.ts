export { NormalizesConversations } from './application/normalizer-registry.js';
export { DescribesTranscripts, TranscriptFormatRegistry } from './application/transcript-formats.js';
export { HEADRACE_EVENTS_FORMAT } from './application/normalizer-registry.js';
export {
  type ConversationOwner,
  type ConversationResult,
  ConversationReader,
} from './application/conversation-reader.js';
export { ConversationsHttpModule } from './conversations.module.js';
export { ConversationsModule } from './conversations.module.js';
export type { Block, ConversationResponse, Message, Step } from './domain/conversation.js';
export { projectConversation } from './domain/run-event-projection.js';
export {
  type ConversationProjection,
  ConversationNormalizer,
  type StoredProjection,
} from './domain/conversation-normalizer.js';
export { type TranscriptFormat, TranscriptFormats } from './application/transcript-formats.js';
