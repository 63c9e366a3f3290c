import { performance } from 'node:perf_hooks';
import type { RunEvent } from '#execution/runner-protocol';
import { projectTimeline, type TimelineEvent } from '#domain/runs';
import { type RunHead, RunTail } from '#execution/executions';
import type { ConversationProjection } from '../../domain/conversation-normalizer.js';
import { ConversationView } from '../../domain/conversation-view.js';
import { ConversationReader } from '../conversation-reader.js';

const PAGE_EVENTS = 1000;
/** Timeline entries kept for streams that are a little behind; those further behind read the log. */
const KEPT_TIMELINE = 500;
/** Rendering uses at most a tenth of the time, so that a huge conversation is sent in larger steps. */
const RENDER_SHARE = 10;
const MAX_RENDER_PAUSE_MS = 5_000;

export interface TimelineEntry {
  readonly seq: number;
  readonly event: TimelineEvent;
}

/** One run for all its streams in this process: the log is read once and projected once. */
export class WatchedRun {
  watchers = 0;
  /** Incremented with every change that is visible to a stream. */
  version = 0;
  /** False once the run's row is gone. */
  exists = true;
  readonly view = new ConversationView();
  private projection: ConversationProjection | null = null;
  private timeline: TimelineEntry[] = [];
  private timelineFrom: number;
  /** Sequence number of the rendered conversation; at most the head's. */
  conversationSeq: number;
  private renderAgainAt = 0;
  private readonly waiting = new Set<() => void>();

  private constructor(
    /** State and last sequence number of {@link timelineAfter} and {@link view}. */
    public head: RunHead,
    private readonly tail: RunTail,
    private readonly reader: ConversationReader,
  ) {
    this.timelineFrom = head.lastSeq;
    this.conversationSeq = head.lastSeq;
  }

  /** `since`: the sequence number after which the first stream needs the changes of the conversation. */
  static async open(head: RunHead, since: number, tail: RunTail, reader: ConversationReader): Promise<WatchedRun> {
    const run = new WatchedRun(head, tail, reader);
    await run.openConversation(head, since);
    return run;
  }

  async *timelineAfter(seq: number, upTo: number): AsyncGenerator<TimelineEntry> {
    let after = seq;
    while (after < upTo && after < this.timelineFrom) {
      const page = (await this.tail.readLifecycle(this.head.runId, after, 200)).filter((event) => event.seq <= upTo);
      if (page.length === 0) return;
      for (const event of page) yield* toEntries(event);
      after = page.at(-1)?.seq ?? upTo;
    }
    for (const entry of this.timeline.filter((known) => known.seq > after && known.seq <= upTo)) yield entry;
  }

  needs(head: RunHead): boolean {
    const known = this.head;
    return (
      this.isBehind ||
      head.lastSeq > known.lastSeq ||
      head.state !== known.state ||
      head.statusMessage?.message !== known.statusMessage?.message ||
      head.isEnded !== known.isEnded ||
      head.conversationId !== known.conversationId ||
      head.updatedAt.getTime() !== known.updatedAt.getTime()
    );
  }

  /**
   * Reads new events up to `head` and wakes the streams. Later events wait, so that a stream gets the state before the end.
   * `known`: the first new events.
   */
  async advance(head: RunHead, known: readonly RunEvent[]): Promise<void> {
    const events = [...known];
    for (let seq = events.at(-1)?.seq ?? this.head.lastSeq; seq < head.lastSeq;) {
      const page = await this.tail.read(head.runId, seq, Math.min(PAGE_EVENTS, head.lastSeq - seq));
      if (page.length === 0) break;
      events.push(...page);
      seq = page.at(-1)?.seq ?? head.lastSeq;
    }
    if (this.projection) this.projection.add(events);
    else await this.openConversation(head, 0);
    this.timeline.push(...events.flatMap(toEntries));
    this.trimTimeline();
    this.head = head;
    this.render();
    this.change();
  }

  markDeleted(): void {
    this.exists = false;
    this.change();
  }

  /** Resolves true when something has changed since `version`, false after `ms` or when aborted. */
  changedSince(version: number, ms: number, abort: AbortSignal): Promise<boolean> {
    if (this.version !== version) return Promise.resolve(true);
    if (abort.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.waiting.delete(finish);
        abort.removeEventListener('abort', finish);
        resolve(this.version !== version);
      };
      const timer = setTimeout(finish, ms);
      this.waiting.add(finish);
      abort.addEventListener('abort', finish, { once: true });
    });
  }

  private get isBehind(): boolean {
    return this.conversationSeq < this.head.lastSeq;
  }

  private async openConversation(head: RunHead, since: number): Promise<void> {
    if (head.conversationId === null) return;
    this.projection = await this.reader.openForStreams(head, since, (projection) =>
      this.view.update(projection.render(), since),
    );
    if (this.projection) this.view.update(this.projection.render(), head.lastSeq);
  }

  private render(): void {
    const started = performance.now();
    if (this.projection && this.isBehind) {
      if (started < this.renderAgainAt && !this.head.isEnded) return;
      this.view.update(this.projection.render(), this.head.lastSeq);
      const took = performance.now() - started;
      this.renderAgainAt = started + Math.min(took * RENDER_SHARE, MAX_RENDER_PAUSE_MS);
    }
    this.conversationSeq = this.head.lastSeq;
  }

  private trimTimeline(): void {
    const dropped = this.timeline.splice(0, Math.max(0, this.timeline.length - KEPT_TIMELINE)).at(-1);
    if (dropped) this.timelineFrom = dropped.seq;
  }

  private change(): void {
    this.version += 1;
    for (const wake of [...this.waiting]) wake();
  }
}

const toEntries = (event: RunEvent): TimelineEntry[] =>
  projectTimeline([event]).map((entry) => ({ seq: event.seq, event: entry }));
