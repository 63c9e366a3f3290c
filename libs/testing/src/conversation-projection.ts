import { type ConversationResponse, type ProjectionState, RunEventProjection } from '#domain/conversations';
import type { RunEvent } from '#execution/runner-protocol';

/** Projects a whole log. */
export function projectConversation(conversationId: string, events: readonly RunEvent[]): ConversationResponse {
  const projection = new RunEventProjection();
  projection.add(events);
  return { conversation_id: conversationId, steps: projection.render() };
}

/** The state after `events`; leaves the given one as it is. */
export function projectFrom(state: Readonly<ProjectionState>, events: readonly RunEvent[]): ProjectionState {
  const projection = new RunEventProjection(structuredClone(state));
  projection.add(events);
  return projection.state;
}
