import type { RunnerSignal, RunningTask } from '#execution/backends';
import { RETIRE_SIGNAL } from '#execution/runner';

/** Delays of our signals after a stop of the server, which also reaches the runner directly. */
const STOP_SIGTERM_MS = 20_000;
const STOP_SIGKILL_MS = 40_000;

/**
 * `stop`: the server cancels the run and notifies the runner; our signals follow if the runner does not end. `drain`: the
 * worker stops, SIGTERM. `kill`, and `lost` when the execution no longer belongs to the worker: SIGKILL.
 */
export type StopMode = 'stop' | 'kill' | 'lost' | 'drain';

const STRENGTH: Readonly<Record<StopMode, number>> = { drain: 0, stop: 1, kill: 2, lost: 3 };

export interface ExecutionRef {
  readonly runId: string;
  /** Decimal. */
  readonly executionId: string;
}

/** One execution on this worker, from its claim until nothing of it exists. */
export class WorkerTask implements ExecutionRef {
  readonly runId: string;
  readonly executionId: string;
  /** Resolves, and never rejects, when its end has been reported, or when it was not started. */
  readonly gone: Promise<void>;
  /** Null while it is claimed and started. */
  runner: RunningTask | null = null;
  /** The strongest requested stop mode. */
  stopMode: StopMode | null = null;
  private isEnded = false;
  private resolveGone = (): void => undefined;
  private isRetiring = false;
  private readonly requested = new Set<StopMode>();
  /** Ends a start that has not been completed. */
  private readonly starting = new AbortController();
  private readonly timers: NodeJS.Timeout[] = [];

  constructor({ runId, executionId }: ExecutionRef) {
    this.runId = runId;
    this.executionId = executionId;
    this.gone = new Promise((resolve) => (this.resolveGone = resolve));
  }

  get isLive(): boolean {
    return !this.isEnded;
  }

  /** Aborted by any stop. */
  get startSignal(): AbortSignal {
    return this.starting.signal;
  }

  /**
   * May be repeated in any order; {@link stopMode} only becomes stronger. A repeated `kill` or `lost` sends its signal again,
   * which a backend may have failed to deliver. Returns whether the request is new.
   */
  requestStop(stopMode: StopMode): boolean {
    if (this.isEnded || (this.isKilled && STRENGTH[stopMode] < STRENGTH.kill)) return false;
    const isNew = !this.requested.has(stopMode);
    this.requested.add(stopMode);
    this.starting.abort();
    if (this.stopMode === null || STRENGTH[stopMode] > STRENGTH[this.stopMode]) this.stopMode = stopMode;
    if (this.isKilled) this.signal('SIGKILL');
    else if (isNew && stopMode === 'drain') this.signal('SIGTERM');
    else if (isNew) {
      this.after(STOP_SIGTERM_MS, 'SIGTERM');
      this.after(STOP_SIGKILL_MS, 'SIGKILL');
    }
    return isNew;
  }

  /**
   * Ends the runner when its agent does not work: an execution that has not started is handed back, an idle session ends. May be
   * repeated, because a runner that has just begun does not listen yet. Returns whether the request is new.
   */
  retire(): boolean {
    const isNew = !this.isRetiring;
    this.isRetiring = true;
    this.signal(RETIRE_SIGNAL);
    return isNew;
  }

  attach(runner: RunningTask): void {
    this.runner = runner;
    if (this.isKilled) this.signal('SIGKILL');
    else if (this.requested.has('drain')) this.signal('SIGTERM');
  }

  signal(signal: RunnerSignal): void {
    this.runner?.signal(signal);
  }

  hasEnded(): void {
    this.isEnded = true;
    for (const timer of this.timers) clearTimeout(timer);
  }

  release(): void {
    this.resolveGone();
  }

  private get isKilled(): boolean {
    return this.stopMode === 'kill' || this.stopMode === 'lost';
  }

  private after(ms: number, signal: RunnerSignal): void {
    this.timers.push(setTimeout(() => this.signal(signal), ms).unref());
  }
}
