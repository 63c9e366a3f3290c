import type { RunnerEventKind } from '#execution/runner-protocol';
import type { PlainEvent } from '../protocol/coalesce.js';
import type { Redactor } from './redactor.js';

const CHUNKS: ReadonlySet<RunnerEventKind> = new Set(['message_chunk', 'thought_chunk']);

/**
 * Redacts events on their way out. Agents tell their text in pieces, and a value may lie across two of them: what may be
 * the beginning of one waits for the next piece.
 */
export class EventRedactor {
  private held: PlainEvent | null = null;

  constructor(private readonly redactor: Redactor) {}

  /** The events to tell now. */
  take(event: PlainEvent): PlainEvent[] {
    if (this.redactor.isIdle) return [event];
    const { kind, data } = event;
    if (!CHUNKS.has(kind) || typeof data['text'] !== 'string') return [...this.release(), this.redacted(event)];
    const before = this.held !== null && isSameMessage(this.held, event) ? [] : this.release();
    const text = this.redactor.whole(`${textOf(this.held)}${data['text']}`);
    const length = this.redactor.heldBack(text);
    this.held = length === 0 ? null : { kind, data: { ...data, text: text.slice(-length) } };
    const now = length === 0 ? text : text.slice(0, -length);
    return now === '' ? before : [...before, { kind, data: { ...data, text: now } }];
  }

  /** What waits, when nothing more comes. */
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
