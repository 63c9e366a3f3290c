import { signal } from '@preact/signals';
import { API_URL } from '../../base';
import type { Schemas } from '../../api/client';
import { loadPrincipal } from '../../session';
import { readEvents, type ServerEvent } from './event-source';

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

const RETRY_MS = 2000;
/**
 * A long history is shown when nothing more comes for the shorter time, and meanwhile at the longer one: each time costs as
 * much as a screen of messages.
 */
const PAUSE_MS = 30;
const LOADING_INTERVAL_MS = 500;
const MANY_EVENTS = 30;
export const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']);

/**
 * The stream of a run, merged as docs/live-events.md describes it. A lost connection resumes after the last event, and what was
 * shown stays. Changes become visible together, however many events arrive.
 */
export class LiveRun {
  readonly connection = signal<Connection>('connecting');
  readonly state = signal<StateEvent | null>(null);
  readonly timeline = signal<readonly TimelineEvent[]>([]);
  readonly steps = signal<readonly LiveStep[]>([]);
  private readonly conversation: LiveStep[] = [];
  private readonly entries: TimelineEvent[] = [];
  private readonly known = new Set<string>();
  private lastEventId = '';
  private abort: AbortController | null = null;
  private isShowing = false;
  private showing: ReturnType<typeof setTimeout> | undefined;
  private shownAt = performance.now();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly runId: string) {}

  /** Also after the end of an earlier stream, when a follow-up continues the run. */
  open(): void {
    this.close();
    const abort = new AbortController();
    this.abort = abort;
    this.connection.value = this.lastEventId === '' ? 'connecting' : 'lost';
    addEventListener('online', this.reopen);
    document.addEventListener('visibilitychange', this.reopen);
    let ended = false;
    void readEvents({
      url: `${API_URL}/agent/runs/${encodeURIComponent(this.runId)}/events`,
      lastEventId: this.lastEventId,
      abort,
      onOpen: () => {
        this.connection.value = 'open';
      },
      onEvents: (events, lastEventId) => {
        if (this.abort !== abort) return;
        for (const event of events) if (this.apply(event)) ended = true;
        this.lastEventId = lastEventId;
        this.show(events.length);
        // Nothing follows. Chromium would keep the request open.
        if (ended) abort.abort();
      },
    }).then((ending) => {
      if (this.abort !== abort) return;
      this.abort = null;
      if (ended || (ending.kind === 'refused' && ending.status === 204)) {
        this.connection.value = 'ended';
        return;
      }
      this.connection.value = 'lost';
      // The next request finds out whether the session or only the access to this run has ended.
      if (ending.kind === 'refused' && ending.status === 401) void loadPrincipal();
      // An id of an earlier key of the server is refused: all events are read again.
      if (ending.kind === 'refused' && ending.status === 400) this.lastEventId = '';
      const pause = ending.kind === 'refused' ? (ending.retryAfterMs ?? RETRY_MS * 2) : RETRY_MS;
      this.timer = setTimeout(() => this.open(), pause);
    });
  }

  close(): void {
    clearTimeout(this.timer);
    removeEventListener('online', this.reopen);
    document.removeEventListener('visibilitychange', this.reopen);
    const { abort } = this;
    this.abort = null;
    abort?.abort();
  }

  private readonly reopen = (): void => {
    if (this.connection.value === 'lost' && this.abort === null && !document.hidden) this.open();
  };

  /** Whether it was the last event. */
  private apply({ name, data }: ServerEvent): boolean {
    const value: unknown = JSON.parse(data);
    switch (name) {
      case 'state':
        this.state.value = value as StateEvent;
        return false;
      case 'timeline': {
        const event = value as TimelineEvent;
        if (!this.known.has(event.event_uuid)) this.entries.push(event);
        this.known.add(event.event_uuid);
        return false;
      }
      case 'conversation':
        this.merge(value as ConversationEvent);
        return false;
      case 'end':
        if ((value as { reason: string }).reason === 'access_ended') void loadPrincipal();
        return true;
      default:
        return false;
    }
  }

  private merge({ path, step, message_index: index, message }: ConversationEvent): void {
    let siblings = this.conversation;
    for (const position of path.slice(0, -1)) siblings = siblings[position]?.steps ?? [];
    const position = path.at(-1) ?? 0;
    const known = siblings[position];
    const { message_count: count, ...fields } = step;
    const merged: LiveStep = { ...fields, messages: known?.messages ?? [], steps: known?.steps ?? [] };
    if (index !== undefined && message) merged.messages[index] = message;
    merged.messages.length = Math.min(merged.messages.length, count);
    siblings[position] = merged;
  }

  private show(count: number): void {
    const update = (): void => {
      clearTimeout(this.showing);
      this.isShowing = false;
      this.showing = undefined;
      this.shownAt = performance.now();
      this.timeline.value = [...this.entries];
      this.steps.value = [...this.conversation];
    };
    const isLoading = count >= MANY_EVENTS && performance.now() - this.shownAt < LOADING_INTERVAL_MS;
    if (isLoading || this.showing !== undefined) {
      clearTimeout(this.showing);
      this.showing = setTimeout(update, PAUSE_MS);
    } else if (!this.isShowing) {
      this.isShowing = true;
      if (document.hidden) setTimeout(update, 0);
      else requestAnimationFrame(update);
    }
  }
}
