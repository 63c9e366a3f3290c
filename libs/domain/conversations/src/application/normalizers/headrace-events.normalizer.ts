import { ConversationFold } from '../../domain/conversation-fold.js';
import { ConversationNormalizer, type StoredFold } from '../../domain/conversation-normalizer.js';
import type { FoldState } from '../../domain/fold-state.js';
import { NormalizesConversations } from '../normalizer-registry.js';

/** The format of every run that reports through the runner protocol. */
export const HEADRACE_EVENTS_FORMAT = 'headrace-events-v1';

@NormalizesConversations()
export class HeadraceEventsNormalizer extends ConversationNormalizer {
  override readonly format = HEADRACE_EVENTS_FORMAT;
  override readonly version = 1;

  override open(stored: StoredFold): ConversationFold {
    return new ConversationFold(stored as FoldState);
  }
}
