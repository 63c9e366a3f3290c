import type { WorkerFrame } from '#libs/worker-protocol';
import type { BackendTask } from './backend.js';
import type { JournalEntry } from './journal.js';

/** Rungs between a wish of the server that the runner should have heard of by itself, and our own signals. */
const STOP_SIGTERM_MS = 20_000;
const STOP_SIGKILL_MS = 40_000;

export type Wish = 'stop' | 'kill' | 'lost' | 'drain';

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
   * `drain`: our own wish: SIGTERM. `kill` and `lost`: SIGKILL. May be repeated.
   */
  ask(wish: Wish): void {
    if (!this.isLive || this.wish === wish || this.wish === 'kill' || this.wish === 'lost') return;
    this.wish = wish;
    if (wish === 'kill' || wish === 'lost') return this.signal('SIGKILL');
    if (wish === 'drain') return this.signal('SIGTERM');
    this.after(STOP_SIGTERM_MS, 'SIGTERM');
    this.after(STOP_SIGKILL_MS, 'SIGKILL');
  }

  /** What was asked for while the runner was being started. */
  attach(runner: BackendTask): void {
    this.runner = runner;
    if (this.wish === 'kill' || this.wish === 'lost') runner.signal('SIGKILL');
    if (this.wish === 'drain') runner.signal('SIGTERM');
  }

  signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.runner?.signal(signal);
  }

  hasEnded(frame: WorkerFrame | null): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.end = { frame, mark: null };
  }

  private after(ms: number, signal: 'SIGTERM' | 'SIGKILL'): void {
    this.timers.push(setTimeout(() => this.signal(signal), ms).unref());
  }
}
