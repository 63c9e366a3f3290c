export { HEADRACE_EVENTS_FORMAT } from './application/normalizer-registry.js';
export {
  type ConversationOwner,
  type ConversationResult,
  ConversationReader,
} from './application/conversation-reader.js';
export { ConversationsHttpModule, ConversationsModule } from './conversations.module.js';
export type { Block, ConversationResponse, Message, Step } from './domain/conversation.js';
export type { ProjectionState } from './domain/projection-state.js';
export { RunEventProjection } from './domain/run-event-projection.js';
export {
  type ConversationProjection,
  ConversationNormalizer,
  type StoredProjection,
} from './domain/conversation-normalizer.js';
export {
  type TranscriptFormat,
  TranscriptFormatRegistry,
  TranscriptFormats,
} from './application/transcript-formats.js';
