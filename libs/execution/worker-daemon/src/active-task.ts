import { RETIRE_SIGNAL } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import { EXECUTION_ENV, type TaskAssignmentData, type WorkerFrame } from '#execution/worker-protocol';
import type { BackendTask, RunnerPlace, RunnerSignal } from './backend.js';
import type { JournalEntry } from './journal.js';
import type { WorkerOptions } from './options/read-worker-options.js';

/** Delays of our signals after a stop of the server, which also reaches the runner directly. */
const STOP_SIGTERM_MS = 20_000;
const STOP_SIGKILL_MS = 40_000;

export type StopMode = 'stop' | 'kill' | 'lost' | 'drain';

const STRENGTH: Readonly<Record<StopMode, number>> = { drain: 0, stop: 1, kill: 2, lost: 3 };

/** One execution, from its claim until the server has acknowledged its end. */
export class ActiveTask {
  /** Null while it is claimed and started. */
  runner: BackendTask | null = null;
  /** Null before it is in the journal. */
  entry: JournalEntry | null = null;
  /** Null while it executes. */
  end: { readonly frame: WorkerFrame | null; mark: number | null } | null = null;
  /** The strongest requested stop mode. */
  stopMode: StopMode | null = null;
  private readonly asked = new Set<StopMode>();
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
   * `stop`: the server cancels the run and notifies the runner; our signals follow if the runner does not end. `drain`: the
   * worker stops, SIGTERM. `kill` and `lost`: SIGKILL. May be repeated in any order; {@link stopMode} only becomes stronger.
   * Returns whether the request is new.
   */
  requestStop(stopMode: StopMode): boolean {
    if (!this.isLive || this.asked.has(stopMode) || (this.isKilled && STRENGTH[stopMode] < STRENGTH.kill)) return false;
    this.asked.add(stopMode);
    if (this.stopMode === null || STRENGTH[stopMode] > STRENGTH[this.stopMode]) this.stopMode = stopMode;
    if (this.isKilled) this.signal('SIGKILL');
    else if (stopMode === 'drain') this.signal('SIGTERM');
    else {
      this.after(STOP_SIGTERM_MS, 'SIGTERM');
      this.after(STOP_SIGKILL_MS, 'SIGKILL');
    }
    return true;
  }

  /** Ends the runner when it only waits for follow-ups. May be repeated, because a runner that has just begun does not listen yet. Returns whether the request is new. */
  retire(): boolean {
    const isNew = !this.isRetiring;
    this.isRetiring = true;
    this.signal(RETIRE_SIGNAL);
    return isNew;
  }

  attach(runner: BackendTask): void {
    this.runner = runner;
    if (this.isKilled) this.signal('SIGKILL');
    else if (this.asked.has('drain')) this.signal('SIGTERM');
  }

  signal(signal: RunnerSignal): void {
    this.runner?.signal(signal);
  }

  private get isKilled(): boolean {
    return this.stopMode === 'kill' || this.stopMode === 'lost';
  }

  hasEnded(frame: WorkerFrame | null): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.end = { frame, mark: null };
  }

  private after(ms: number, signal: RunnerSignal): void {
    this.timers.push(setTimeout(() => this.signal(signal), ms).unref());
  }
}

/**
 * With a lease of 90 s, of which a runner uses 80: the last heartbeat before an interruption of 60 s is at most 9 s old, and
 * the first one after it is answered within 11 s, even if a request still hangs.
 */
const BEATS_PER_LEASE = 12;

/** The hand-over of an execution. The runner gets everything else, including secrets, with its claim. */
export function handoverFor(
  { serverRootUrl, limits, harnesses, git }: WorkerOptions,
  { execution_id: executionId, env_vars: variables }: TaskAssignmentData,
  marker: string,
  place: RunnerPlace,
): RunnerHandover {
  return {
    base_url: `${serverRootUrl}/api/v1`,
    execution_id: executionId,
    token: variables?.[EXECUTION_ENV.executionToken] ?? '',
    marker,
    limits,
    beats_per_lease: BEATS_PER_LEASE,
    harnesses: { ...harnesses },
    git: { clone_timeout_seconds: git.clone_timeout_seconds, max_repository_bytes: git.max_repository_bytes },
    ...place,
  };
}
