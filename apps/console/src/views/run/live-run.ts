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

/** `deleted`: the run was deleted. `denied`: the user may not read it any more. */
export type Connection = 'connecting' | 'open' | 'lost' | 'ended' | 'deleted' | 'denied';

const RETRY_MS = 2000;
/**
 * A long history is shown when nothing more comes for the shorter time, and meanwhile at the longer one: each time costs as
 * much as a screen of messages.
 */
const PAUSE_MS = 30;
const LOADING_INTERVAL_MS = 1000;
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
    const isFirst = this.lastEventId === '' || this.connection.value === 'ended';
    this.connection.value = isFirst ? 'connecting' : 'lost';
    addEventListener('online', this.reopen);
    document.addEventListener('visibilitychange', this.reopen);
    let ended: Connection | null = null;
    void readEvents({
      url: `${API_URL}/agent/runs/${encodeURIComponent(this.runId)}/events`,
      lastEventId: this.lastEventId,
      abort,
      onOpen: () => {
        this.connection.value = 'open';
      },
      onEvents: (events, lastEventId) => {
        if (this.abort !== abort) return;
        for (const event of events) ended = this.apply(event) ?? ended;
        this.lastEventId = lastEventId;
        this.show(events.length, ended !== null);
        // Nothing follows. Chromium would keep the request open.
        if (ended !== null) abort.abort();
      },
    }).then((ending) => {
      if (this.abort !== abort) return;
      this.abort = null;
      if (ended !== null || (ending.kind === 'rejected' && ending.status === 204)) {
        this.connection.value = ended ?? 'ended';
        return;
      }
      if (ending.kind === 'rejected' && this.stopAfter(ending.status)) return;
      this.connection.value = 'lost';
      // The next request finds out whether the session or only the access to this run has ended.
      if (ending.kind === 'rejected' && ending.status === 401) void loadPrincipal();
      // An id of an earlier key of the server is rejected: all events are read again.
      if (ending.kind === 'rejected' && ending.status === 400) this.lastEventId = '';
      const pause = ending.kind === 'rejected' ? (ending.retryAfterMs ?? RETRY_MS * 2) : RETRY_MS;
      this.timer = setTimeout(() => this.open(), pause);
    });
  }

  /** Whether a response with this status means that the run cannot be read any more. */
  stopAfter(status: number): boolean {
    if (status !== 403 && status !== 404) return false;
    this.close();
    this.connection.value = status === 404 ? 'deleted' : 'denied';
    return true;
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

  /** How the stream has ended; null: it was not the last event. */
  private apply({ name, data }: ServerEvent): Connection | null {
    const value: unknown = JSON.parse(data);
    switch (name) {
      case 'state':
        this.state.value = value as StateEvent;
        return null;
      case 'timeline': {
        const event = value as TimelineEvent;
        if (!this.known.has(event.event_uuid)) this.entries.push(event);
        this.known.add(event.event_uuid);
        return null;
      }
      case 'conversation':
        this.merge(value as ConversationEvent);
        return null;
      case 'end':
        return this.endOf((value as { reason: string }).reason);
      default:
        return null;
    }
  }

  private endOf(reason: string): Connection {
    if (reason === 'run_deleted') return 'deleted';
    if (reason !== 'access_ended') return 'ended';
    void loadPrincipal();
    return 'denied';
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

  private show(count: number, isEnd: boolean): void {
    const update = (): void => {
      clearTimeout(this.showing);
      this.isShowing = false;
      this.showing = undefined;
      this.shownAt = performance.now();
      this.timeline.value = [...this.entries];
      this.steps.value = [...this.conversation];
    };
    if (isEnd) {
      update();
      return;
    }
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
