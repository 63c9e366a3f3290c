import { performance } from 'node:perf_hooks';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Settings } from '#platform/config';
import { isDatabaseUnavailable } from '#platform/persistence';
import { type RunHead, RunTail } from '#execution/executions';
import { ConversationReader } from '../conversation-reader.js';
import { WatchedRun } from './watched-run.js';

/** Statements that read concurrently: many watched runs must not use all database connections. */
const PARALLEL_READS = 3;
/** Runs of one statement, and the events of each: what it returns fits into memory. */
const RUNS_PER_READ = 25;
const EVENTS_PER_READ = 100;
/** More runs are polled in groups: requests of the process wait while the events of one group are rendered. */
const RUNS_PER_POLL = 12;
const MAX_POLLS_PER_INTERVAL = 8;
const MIN_POLL_INTERVAL_MS = 20;

/**
 * The runs with open streams in this process. Each is polled once per LIVE_POLL, or later when polls take long; many of them in groups
 * at different times: one statement reads the heads of a group, and only runs that changed are read. There is no notification per
 * event: commits that notify are serialised by PostgreSQL.
 */
@Injectable()
export class WatchedRuns implements OnModuleDestroy {
  private readonly logger = new Logger(WatchedRuns.name);
  private readonly runs = new Map<string, Promise<WatchedRun>>();
  /** In the order in which they are polled. */
  private readonly opened = new Map<string, WatchedRun>();
  private timer: NodeJS.Timeout | null = null;
  private polling: Promise<void> | null = null;
  private closed = false;

  constructor(
    private readonly tail: RunTail,
    private readonly reader: ConversationReader,
    private readonly settings: Settings,
  ) {}

  /** `since`: the sequence number up to which the caller knows the conversation. End it with {@link release}. */
  async watch(head: RunHead, since: number): Promise<WatchedRun> {
    const opening = this.runs.get(head.runId) ?? this.open(head, since);
    const run = await opening;
    if (this.runs.get(head.runId) !== opening) return this.watch(head, since);
    run.watchers += 1;
    this.schedule();
    return run;
  }

  release(run: WatchedRun): void {
    run.watchers -= 1;
    if (run.watchers === 0) this.forget(run.head.runId);
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    if (this.timer) clearTimeout(this.timer);
    await this.polling;
  }

  private open(head: RunHead, since: number): Promise<WatchedRun> {
    const opening = WatchedRun.open(head, since, this.tail, this.reader);
    this.runs.set(head.runId, opening);
    opening.then(
      (run) => this.opened.set(head.runId, run),
      () => this.forget(head.runId),
    );
    return opening;
  }

  private forget(runId: string): void {
    this.runs.delete(runId);
    this.opened.delete(runId);
  }

  private schedule(elapsedMs = 0): void {
    if (this.timer || this.polling || this.closed || this.opened.size === 0) return;
    const interval = this.settings.livePoll / this.pollsPerInterval();
    this.timer = setTimeout(
      () => {
        this.timer = null;
        const started = performance.now();
        this.polling = this.poll(this.nextRuns())
          .catch((error: unknown) => this.report(error))
          .finally(() => {
            this.polling = null;
            this.schedule(performance.now() - started);
          });
      },
      // Half of it when polls take long, so that they never use all of the time.
      Math.max(interval - elapsedMs, interval / 2),
    );
  }

  private pollsPerInterval(): number {
    const wanted = Math.ceil(this.opened.size / RUNS_PER_POLL);
    const possible = Math.floor(this.settings.livePoll / MIN_POLL_INTERVAL_MS);
    return Math.max(1, Math.min(wanted, possible, MAX_POLLS_PER_INTERVAL));
  }

  private nextRuns(): ReadonlyMap<string, WatchedRun> {
    const next = new Map([...this.opened].slice(0, Math.ceil(this.opened.size / this.pollsPerInterval())));
    for (const [runId, run] of next) {
      this.opened.delete(runId);
      this.opened.set(runId, run);
    }
    return next;
  }

  private async poll(runs: ReadonlyMap<string, WatchedRun>): Promise<void> {
    const heads = new Map((await this.tail.heads([...runs.keys()])).map((head) => [head.runId, head]));
    const moved: (readonly [WatchedRun, RunHead])[] = [];
    for (const [runId, run] of runs) {
      const head = heads.get(runId);
      if (head === undefined) {
        if (run.exists) run.markDeleted();
      } else if (run.needs(head)) moved.push([run, head]);
    }
    const groups = Array.from({ length: Math.ceil(moved.length / RUNS_PER_READ) }, (_, index) =>
      moved.slice(index * RUNS_PER_READ, (index + 1) * RUNS_PER_READ),
    ).values();
    // A failure is reported here: the poll ends with all its readers, because the next one must not advance the same runs meanwhile.
    const reader = async (): Promise<void> => {
      for (const group of groups) await this.advance(group).catch((error: unknown) => this.report(error));
    };
    await Promise.all(Array.from({ length: PARALLEL_READS }, reader));
  }

  private async advance(group: readonly (readonly [WatchedRun, RunHead])[]): Promise<void> {
    const ranges = group.map(([run, { runId, lastSeq }]) => ({
      runId,
      afterSeq: run.head.lastSeq,
      upToSeq: lastSeq,
    }));
    const events = await this.tail.readAll(ranges, EVENTS_PER_READ);
    for (const [run, head] of group)
      await run.advance(head, events.get(head.runId) ?? []).catch((error: unknown) => this.report(error));
  }

  /** While the database is unavailable there are no changes; the next round reads again. */
  private report(error: unknown): void {
    if (!isDatabaseUnavailable(error)) this.logger.error(error);
  }
}

export type StreamSlot = { readonly release: () => void } | 'principal_limit' | 'process_limit';

@Injectable()
export class StreamLimiter {
  private readonly byPrincipal = new Map<string, number>();
  private open = 0;

  constructor(private readonly settings: Settings) {}

  acquire(principalUid: string): StreamSlot {
    const theirs = this.byPrincipal.get(principalUid) ?? 0;
    if (theirs >= this.settings.liveMaxStreamsPerPrincipal) return 'principal_limit';
    if (this.open >= this.settings.liveMaxStreams) return 'process_limit';
    this.byPrincipal.set(principalUid, theirs + 1);
    this.open += 1;
    return { release: () => this.release(principalUid) };
  }

  private release(principalUid: string): void {
    this.open -= 1;
    const left = (this.byPrincipal.get(principalUid) ?? 1) - 1;
    if (left > 0) this.byPrincipal.set(principalUid, left);
    else this.byPrincipal.delete(principalUid);
  }
}
