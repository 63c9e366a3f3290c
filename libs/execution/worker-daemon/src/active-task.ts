import { RETIRE_SIGNAL, exitCodeOf, RUNNER_EXIT } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import {
  EXECUTION_ENV,
  type TaskAssignmentData,
  type WorkerFrame,
  type TaskCompleted,
  type TaskFailed,
} from '#execution/worker-protocol';
import type { RunnerPlace, RunnerSignal, RunningTask, TaskEnd } from '#execution/backends';
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
  runner: RunningTask | null = null;
  /** Null before it is in the journal. */
  entry: JournalEntry | null = null;
  /** Null while it executes. */
  end: { readonly frame: WorkerFrame | null; mark: number | null } | null = null;
  /** The strongest requested stop mode. */
  stopMode: StopMode | null = null;
  private readonly asked = new Set<StopMode>();
  private isRetiring = false;
  /** Ends a start that has not been completed. */
  private readonly starting = new AbortController();
  private readonly timers: NodeJS.Timeout[] = [];

  constructor(
    readonly taskId: string,
    readonly executionId: string,
  ) {}

  get isLive(): boolean {
    return this.end === null;
  }

  /** Aborted by any stop. */
  get startSignal(): AbortSignal {
    return this.starting.signal;
  }

  /**
   * `stop`: the server cancels the run and notifies the runner; our signals follow if the runner does not end. `drain`: the
   * worker stops, SIGTERM. `kill` and `lost`: SIGKILL. May be repeated in any order; {@link stopMode} only becomes stronger.
   * Returns whether the request is new.
   */
  requestStop(stopMode: StopMode): boolean {
    if (!this.isLive || this.asked.has(stopMode) || (this.isKilled && STRENGTH[stopMode] < STRENGTH.kill)) return false;
    this.asked.add(stopMode);
    this.starting.abort();
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

  attach(runner: RunningTask): void {
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

/** Reasons of a failure, in addition to what the runner has reported. */
export const FAILURE_REASON = {
  setup: 'environment_setup_failed',
  agent: 'agent_process_failed',
  /** Stopped, killed or vanished because of the machine, not because of the agent. */
  lost: 'infrastructure_timeout',
  fault: 'internal_error',
} as const;

/** Null when the execution no longer belongs to this worker. A runner that ended in order has reported the result. */
export function endFrame(taskId: string, end: TaskEnd, stopMode: StopMode | null): TaskCompleted | TaskFailed | null {
  if (stopMode === 'lost') return null;
  if (end.kind === 'setup_failed') return failed(taskId, end.message, FAILURE_REASON.setup);
  if (end.kind === 'agent_failed') return failed(taskId, end.message, FAILURE_REASON.agent, end.exitCode);
  if (end.kind === 'exited' && end.code === RUNNER_EXIT.reported)
    return completed(taskId, 'The runner has reported the end of the execution.', stopMode);
  if (stopMode === 'stop' || stopMode === 'kill') return completed(taskId, 'The task was stopped.', stopMode);
  if (stopMode === 'drain')
    return failed(taskId, 'The worker was stopped before the task had finished.', FAILURE_REASON.lost);
  if (end.kind === 'vanished') return failed(taskId, end.message, FAILURE_REASON.lost);
  const code = exitCodeOf(end);
  // A runner loses its lease when it was disconnected for too long, so clients can retry such a run.
  const isLost = end.signal !== null || end.code === RUNNER_EXIT.fenced;
  const reason = isLost ? FAILURE_REASON.lost : FAILURE_REASON.fault;
  return failed(taskId, describe(end.code, end.signal), reason, code);
}

function completed(taskId: string, message: string, stopMode: StopMode | null): TaskCompleted {
  const isCancelled = stopMode === 'stop' || stopMode === 'kill';
  return {
    type: 'task_completed',
    data: { task_id: taskId, message, ...(isCancelled ? { task_state: 'CANCELLED' } : {}) },
  };
}

function failed(taskId: string, message: string, reason: string, exitCode?: number): TaskFailed {
  return {
    type: 'task_failed',
    data: { task_id: taskId, message, failure_reason: reason, exit_code: exitCode },
  };
}

export function exitCodeOfTask(end: TaskEnd): number {
  if (end.kind === 'agent_failed') return end.exitCode;
  return end.kind === 'exited' ? exitCodeOf(end) : 1;
}

function describe(code: number | null, signal: string | null): string {
  if (signal !== null) return `The runner was ended by ${signal}.`;
  if (code === RUNNER_EXIT.notClaimed)
    return 'The runner could not reach the server: check --server-root-url, and NODE_EXTRA_CA_CERTS for a private certificate authority.';
  if (code === RUNNER_EXIT.claimRefused) return 'The runner could not claim the execution: the execution was given up.';
  if (code === RUNNER_EXIT.fenced) return 'The runner lost its lease.';
  return `The runner ended with exit code ${code ?? 'unknown'}.`;
}
