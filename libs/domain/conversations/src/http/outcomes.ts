import { ProblemError } from '#platform/http';
import type { ConversationRun, ConversationLookup } from '#domain/runs';
import type { ConversationReading } from '../application/read-conversation.js';
import type { ConversationResponse } from './conversation.dto.js';

/** Folds that were stored on the way make the next reading faster. */
const RETRY_SECONDS = 30;

export function readingOrThrow(reading: ConversationReading): ConversationResponse {
  switch (reading.kind) {
    case 'found':
      return reading.conversation;
    case 'no_conversation':
      throw new ProblemError('resource_not_found', 'The run has no conversation: its agent has not started yet.');
    case 'pruned':
      throw new ProblemError('resource_not_found', 'The conversation is no longer kept: retention has removed it.');
    case 'too_large':
      throw new ProblemError(
        'resource_unavailable',
        'The conversation is too long for one answer. Read its runs one by one: `GET /agent/runs/{runId}/conversation`.',
        { retryAfterSeconds: RETRY_SECONDS },
      );
    case 'unsupported_format':
      throw new ProblemError(
        'operation_not_supported',
        `The conversation format ${reading.format} cannot be normalised.`,
      );
  }
}

export function runsOrThrow(lookup: ConversationLookup): readonly ConversationRun[] {
  switch (lookup.kind) {
    case 'found':
      return lookup.runs;
    case 'unknown':
      throw new ProblemError('resource_not_found', 'Conversation not found.');
    case 'not_yours':
      throw new ProblemError('not_authorized', 'You have no access to this conversation.');
  }
}
