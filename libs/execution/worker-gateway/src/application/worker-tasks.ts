import type {
  Desired,
  TaskClaimed,
  TaskCompleted,
  TaskFailed,
  TaskRef,
  TaskRejected,
  Verdict,
} from '#execution/worker-protocol';
import type { WorkerRef } from '../domain/worker.js';

/**
 * Receives what connected workers report about tasks. Implemented by the library that places runs on workers. Every call is idempotent: a frame may
 * come twice, late, or about an execution that is not the run's current one any more; then it changes nothing.
 *
 * The calls about one connection come one after the other, those of different connections at once. A call that rejects
 * is logged with the connection left open; the worker's next beat or reconnect puts right what was missed.
 */
export abstract class WorkerTasks {
  /**
   * A worker that says no hello has connected, and is offered nothing before this resolves: it is asked to stop what was
   * given up while it was away.
   */
  abstract arriving(worker: WorkerRef): Promise<void>;

  /** Something may be offered to it from now on. Neither throws nor is waited for. */
  abstract connected(worker: WorkerRef): void;

  /** The worker may have a free slot: a task ended, or it reported one, or it no longer drains. Never throws; not awaited. */
  abstract slotFreed(worker: WorkerRef): void;

  /** `waitedMs`: how long ago the frame arrived, which is when the claim counts. */
  abstract claimed(worker: WorkerRef, data: TaskClaimed['data'], waitedMs: number): Promise<void>;

  abstract rejected(worker: WorkerRef, data: TaskRejected['data']): Promise<void>;

  abstract completed(worker: WorkerRef, data: TaskCompleted['data']): Promise<void>;

  abstract failed(worker: WorkerRef, data: TaskFailed['data']): Promise<void>;

  /** What a worker that has come back is to do with each task it still runs. */
  abstract reconcile(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { verdict: Verdict })[]>;

  /** What is wanted of each task that it says it runs. */
  abstract desired(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { desired: Desired })[]>;

  /** How many runs a connection has claimed that have not ended. */
  abstract executing(worker: WorkerRef): Promise<number>;

  /** These connections have given a sign of life since the last call: the leases of what they execute are renewed. */
  abstract alive(connectionIds: readonly string[]): Promise<void>;

  /** Frames of these connections wait to be handled: their offers do not expire meanwhile. */
  abstract unread(connectionIds: readonly string[]): Promise<void>;

  /** The process of the worker ends: no other connection can report what this one holds. */
  abstract leaving(worker: WorkerRef): Promise<void>;

  /** The same, after everything that it has said was handled: what it has not claimed goes back to the queue. */
  abstract left(worker: WorkerRef): Promise<void>;
}
