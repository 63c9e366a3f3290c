export { NormalizesConversations } from './application/normalizer-registry.js';
export { HEADRACE_EVENTS_FORMAT } from './application/normalizers/headrace-events.normalizer.js';
export { type ConversationOwner, type ConversationReading, ReadConversation } from './application/read-conversation.js';
export { ConversationsHttpModule } from './conversations-http.module.js';
export { ConversationsModule } from './conversations.module.js';
export type { Block, ConversationResponse, Message, Step } from './domain/conversation.js';
export { foldConversation } from './domain/conversation-fold.js';
export { type ConversationFolding, ConversationNormalizer, type StoredFold } from './domain/conversation-normalizer.js';
export { conversationMigrations } from './persistence/migrations/index.js';
