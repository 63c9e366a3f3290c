import type { RunnerEventKind } from '#execution/runner-protocol';
import type { Redactor } from '../redaction/redactor.js';
import { jsonBytes } from './shrink.js';

export interface PlainEvent {
  readonly kind: RunnerEventKind;
  readonly data: Record<string, unknown>;
}

const MAX_CHUNK_LENGTH = 16_384;

/** Agents stream word by word and repeat a growing output, which can be sent once as long as it is pending. */
export function coalesce(previous: PlainEvent, next: PlainEvent): PlainEvent | null {
  if (previous.kind !== next.kind) return null;
  const [before, after] = [previous.data, next.data];
  if (CHUNK_KINDS.has(next.kind)) {
    const text = textOf(previous) + textOf(next);
    const fits = isSameMessage(previous, next) && text.length <= MAX_CHUNK_LENGTH;
    return fits ? { kind: next.kind, data: { ...before, text } } : null;
  }
  if (next.kind === 'tool_call') {
    // A change of status stays a separate event: it shows when the call started and ended.
    const sameCall = before['tool_call_id'] === after['tool_call_id'];
    const sameStatus = after['status'] === undefined || after['status'] === before['status'];
    return sameCall && sameStatus ? { kind: next.kind, data: { ...before, ...after } } : null;
  }
  return null;
}

/** Events that may be dropped beyond the limit; all others are part of the history of the run. */
const LIMITED: ReadonlySet<RunnerEventKind> = new Set([
  'message_chunk',
  'thought_chunk',
  'tool_call',
  'plan',
  'mode_changed',
]);

/** Limits the bytes of conversation: emits one `output_truncated`, then drops all but the ends of reported calls. */
export class OutputLimit {
  private usedBytes = 0;
  private exceeded = false;
  private readonly openCalls = new Set<unknown>();

  constructor(private readonly maxBytes: number) {}

  admit(event: PlainEvent): PlainEvent[] {
    if (!LIMITED.has(event.kind)) return [event];
    if (!this.exceeded) {
      this.usedBytes += jsonBytes(event.data);
      if (this.usedBytes <= this.maxBytes) {
        this.track(event);
        return [event];
      }
      this.exceeded = true;
      return [{ kind: 'output_truncated', data: { limit_bytes: this.maxBytes } }, ...this.closing(event)];
    }
    return this.closing(event);
  }

  private closing(event: PlainEvent): PlainEvent[] {
    const { tool_call_id: id, status, denied } = event.data;
    if (event.kind !== 'tool_call' || !this.openCalls.has(id) || !isEnd(status)) return [];
    this.openCalls.delete(id);
    return [{ kind: 'tool_call', data: { tool_call_id: id, status, denied } }];
  }

  private track({ kind, data }: PlainEvent): void {
    if (kind !== 'tool_call') return;
    if (isEnd(data['status'])) this.openCalls.delete(data['tool_call_id']);
    else this.openCalls.add(data['tool_call_id']);
  }
}

const isEnd = (status: unknown): boolean => status === 'completed' || status === 'failed';

const CHUNK_KINDS: ReadonlySet<RunnerEventKind> = new Set(['message_chunk', 'thought_chunk']);

/** A secret may be split between two chunks: a possible beginning of a secret waits for the next chunk. */
export class EventRedactor {
  private held: PlainEvent | null = null;

  constructor(private readonly redactor: Redactor) {}

  redact(event: PlainEvent): PlainEvent[] {
    if (this.redactor.isIdle) return [event];
    const { kind, data } = event;
    if (!CHUNK_KINDS.has(kind) || typeof data['text'] !== 'string') return [...this.release(), this.redacted(event)];
    const before = this.held !== null && isSameMessage(this.held, event) ? [] : this.release();
    const text = this.redactor.whole(`${textOf(this.held)}${data['text']}`);
    const length = this.redactor.heldBack(text);
    this.held = length === 0 ? null : { kind, data: { ...data, text: text.slice(-length) } };
    const now = length === 0 ? text : text.slice(0, -length);
    return now === '' ? before : [...before, { kind, data: { ...data, text: now } }];
  }

  /** The held text, when no further chunk follows. */
  release(): PlainEvent[] {
    const { held } = this;
    this.held = null;
    return held === null ? [] : [this.redacted(held)];
  }

  private redacted({ kind, data }: PlainEvent): PlainEvent {
    return { kind, data: this.redactor.json(data) as Record<string, unknown> };
  }
}

const textOf = (event: PlainEvent | null): string => (event === null ? '' : String(event.data['text']));

const isSameMessage = (a: PlainEvent, b: PlainEvent): boolean =>
  a.kind === b.kind &&
  a.data['message_id'] === b.data['message_id'] &&
  a.data['parent_tool_call_id'] === b.data['parent_tool_call_id'];
