import type { RunnerEventKind } from '#execution/runner-protocol';

export interface PlainEvent {
  readonly kind: RunnerEventKind;
  readonly data: Record<string, unknown>;
}

const MAX_CHUNK_LENGTH = 16_384;

/**
 * One event that says the same as two that follow each other, or null. Agents stream word by word and repeat a growing
 * output; what has not been sent yet may as well be said once.
 */
export function coalesce(previous: PlainEvent, next: PlainEvent): PlainEvent | null {
  if (previous.kind !== next.kind) return null;
  const [before, after] = [previous.data, next.data];
  if (next.kind === 'message_chunk' || next.kind === 'thought_chunk') {
    const sameMessage =
      before['message_id'] === after['message_id'] && before['parent_tool_call_id'] === after['parent_tool_call_id'];
    const text = `${String(before['text'])}${String(after['text'])}`;
    return sameMessage && text.length <= MAX_CHUNK_LENGTH ? { kind: next.kind, data: { ...before, text } } : null;
  }
  if (next.kind === 'tool_call') {
    // A change of status is kept as an event of its own: it tells when the call started and ended.
    const sameCall = before['tool_call_id'] === after['tool_call_id'];
    const sameStatus = after['status'] === undefined || after['status'] === before['status'];
    return sameCall && sameStatus ? { kind: next.kind, data: { ...before, ...after } } : null;
  }
  return null;
}
