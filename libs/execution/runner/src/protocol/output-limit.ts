import type { RunnerEventKind } from '#execution/runner-protocol';
import { jsonBytes } from './shrink.js';
import type { PlainEvent } from './coalesce.js';

/** What may be left out when there is too much; everything else tells what happened to the run. */
const LIMITED: ReadonlySet<RunnerEventKind> = new Set([
  'message_chunk',
  'thought_chunk',
  'tool_call',
  'plan',
  'mode_changed',
]);

/** Counts the bytes of conversation; beyond the limit it says so once and drops, except the ends of calls already told. */
export class OutputLimit {
  private usedBytes = 0;
  private exceeded = false;
  private readonly openCalls = new Set<unknown>();

  constructor(private readonly maxBytes: number) {}

  /** The events to send instead of `event`. */
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
    return [{ kind: 'tool_call', data: { tool_call_id: id, status, ...(denied === undefined ? {} : { denied }) } }];
  }

  private track({ kind, data }: PlainEvent): void {
    if (kind !== 'tool_call') return;
    if (isEnd(data['status'])) this.openCalls.delete(data['tool_call_id']);
    else this.openCalls.add(data['tool_call_id']);
  }
}

const isEnd = (status: unknown): boolean => status === 'completed' || status === 'failed';
