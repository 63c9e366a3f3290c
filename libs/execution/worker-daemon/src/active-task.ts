import { RETIRE_SIGNAL } from '#execution/runner';
import type { WorkerFrame } from '#execution/worker-protocol';
import type { BackendTask, RunnerSignal } from './backend.js';
import type { JournalEntry } from './journal.js';

/** Rungs between a wish of the server that the runner should have heard of by itself, and our own signals. */
const STOP_SIGTERM_MS = 20_000;
const STOP_SIGKILL_MS = 40_000;

export type Wish = 'stop' | 'kill' | 'lost' | 'drain';

const GRAVITY: Readonly<Record<Wish, number>> = { drain: 0, stop: 1, kill: 2, lost: 3 };

/** One execution, from its claim until the server has heard of its end. */
export class ActiveTask {
  /** Null while it is claimed and started. */
  runner: BackendTask | null = null;
  /** Null before it is in the journal. */
  entry: JournalEntry | null = null;
  /** Null while it lives. */
  end: { readonly frame: WorkerFrame | null; mark: number | null } | null = null;
  /** Why it was told to stop; the gravest so far. */
  wish: Wish | null = null;
  private readonly asked = new Set<Wish>();
  private isRetiring = false;
  private readonly timers: NodeJS.Timeout[] = [];

  constructor(
    readonly taskId: string,
    readonly executionId: string,
  ) {}

  get isLive(): boolean {
    return this.end === null;
  }

  /**
   * `stop`: the server wants it cancelled, of which it tells the runner itself; signals follow when that leads nowhere.
   * `drain`: our own wish: SIGTERM. `kill` and `lost`: SIGKILL. May be repeated, in any order: {@link wish} only ever
   * becomes graver. Whether this is news.
   */
  ask(wish: Wish): boolean {
    if (!this.isLive || this.asked.has(wish) || (this.isDoomed && GRAVITY[wish] < GRAVITY.kill)) return false;
    this.asked.add(wish);
    if (this.wish === null || GRAVITY[wish] > GRAVITY[this.wish]) this.wish = wish;
    if (this.isDoomed) this.signal('SIGKILL');
    else if (wish === 'drain') this.signal('SIGTERM');
    else {
      this.after(STOP_SIGTERM_MS, 'SIGTERM');
      this.after(STOP_SIGKILL_MS, 'SIGKILL');
    }
    return true;
  }

  /** Ends the runner once it only waits for follow-ups. May be repeated: one that has just begun does not listen yet. Whether this is news. */
  retire(): boolean {
    const isNews = !this.isRetiring;
    this.isRetiring = true;
    this.signal(RETIRE_SIGNAL);
    return isNews;
  }

  /** What was asked for while the runner was being started. */
  attach(runner: BackendTask): void {
    this.runner = runner;
    if (this.isDoomed) this.signal('SIGKILL');
    else if (this.asked.has('drain')) this.signal('SIGTERM');
  }

  signal(signal: RunnerSignal): void {
    this.runner?.signal(signal);
  }

  private get isDoomed(): boolean {
    return this.wish === 'kill' || this.wish === 'lost';
  }

  hasEnded(frame: WorkerFrame | null): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.end = { frame, mark: null };
  }

  private after(ms: number, signal: RunnerSignal): void {
    this.timers.push(setTimeout(() => this.signal(signal), ms).unref());
  }
}
