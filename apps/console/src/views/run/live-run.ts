import { signal } from '@preact/signals';
import { API_URL } from '../../base';
import type { Schemas } from '../../api/client';
import { loadPrincipal } from '../../session';

export type Message = Schemas['Message'];
export type TimelineEvent = Schemas['RunTimelineEvent'];

/** A step as the stream sends it, with what belongs to it. */
export interface LiveStep {
  readonly id: string;
  readonly description?: string;
  readonly summary?: string;
  readonly completed_at?: string;
  messages: Message[];
  steps: LiveStep[];
}

interface ConversationEvent {
  readonly path: readonly number[];
  readonly step: Omit<LiveStep, 'messages' | 'steps'> & { readonly message_count: number };
  readonly message_index?: number;
  readonly message?: Message;
}

interface StateEvent {
  readonly state: Schemas['RunState'];
  readonly status_message?: Schemas['RunItem']['status_message'];
}

export type Connection = 'connecting' | 'open' | 'lost' | 'ended';

const RETRY_MS = 5000;
export const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']);

/**
 * The stream of a run, merged as docs/live-events.md describes it. A lost connection resumes after the last event, and what was
 * shown stays. Changes become visible once per frame, however many events arrive.
 */
export class LiveRun {
  readonly connection = signal<Connection>('connecting');
  readonly state = signal<StateEvent | null>(null);
  readonly timeline = signal<readonly TimelineEvent[]>([]);
  readonly steps = signal<readonly LiveStep[]>([]);
  private readonly conversation: LiveStep[] = [];
  private readonly entries: TimelineEvent[] = [];
  private readonly known = new Set<string>();
  private source: EventSource | null = null;
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly runId: string) {}

  /** Also after the end of an earlier stream, when a follow-up continues the run. */
  open(): void {
    clearTimeout(this.timer);
    this.source?.close();
    this.connection.value = 'connecting';
    const source = new EventSource(`${API_URL}/agent/runs/${encodeURIComponent(this.runId)}/events`);
    this.source = source;
    const on = <T>(name: string, handle: (data: T) => void): void =>
      source.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data) as T));
    source.onopen = () => {
      this.connection.value = 'open';
    };
    source.onerror = () => {
      this.connection.value = 'lost';
      // The browser connects again by itself, unless the response was not a stream.
      if (source.readyState === EventSource.CLOSED) this.timer = setTimeout(() => this.retry(), RETRY_MS);
    };
    on<StateEvent>('state', (state) => {
      this.state.value = state;
    });
    on<TimelineEvent>('timeline', (event) => {
      if (this.known.has(event.event_uuid)) return;
      this.known.add(event.event_uuid);
      this.entries.push(event);
      this.show();
    });
    on<ConversationEvent>('conversation', (event) => {
      this.merge(event);
      this.show();
    });
    on<{ reason: string }>('end', ({ reason }) => {
      source.close();
      this.connection.value = 'ended';
      // The next request finds out whether the session or only the access to this run has ended.
      if (reason === 'access_ended') void loadPrincipal();
    });
  }

  close(): void {
    clearTimeout(this.timer);
    this.source?.close();
    cancelAnimationFrame(this.frame);
  }

  /** A 204 for a run that has ended looks like a refusal. */
  private retry(): void {
    if (ENDED.has(this.state.value?.state ?? '')) this.connection.value = 'ended';
    else this.open();
  }

  private merge({ path, step, message_index: index, message }: ConversationEvent): void {
    let siblings = this.conversation;
    for (const position of path.slice(0, -1)) siblings = siblings[position]?.steps ?? [];
    const position = path.at(-1) ?? 0;
    const known = siblings[position];
    const { message_count: count, ...fields } = step;
    // A new object: components compare steps by their identity.
    const merged: LiveStep = { ...fields, messages: known?.messages ?? [], steps: known?.steps ?? [] };
    if (index !== undefined && message) merged.messages[index] = message;
    merged.messages.length = Math.min(merged.messages.length, count);
    siblings[position] = merged;
  }

  private show(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.timeline.value = [...this.entries];
      this.steps.value = [...this.conversation];
    });
  }
}
