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
 * Receives what connected workers report about tasks. Implemented by the library that places runs on workers. Every call is
 * idempotent: a frame may arrive twice, late, or about an execution that is no longer the current one of its run, and then
 * changes nothing.
 *
 * The calls about one connection are made one after the other, those about different connections concurrently. A call that
 * rejects is logged and leaves the connection open; the next beat or connection of the worker corrects what was missed.
 */
export abstract class WorkerTasks {
  /**
   * A worker that sends no hello frame has connected. It is offered nothing before this resolves, and is asked to stop tasks
   * that were abandoned while it was not connected.
   */
  abstract arriving(worker: WorkerRef): Promise<void>;

  /** Runs may be offered to it from now on. Never throws; not awaited. */
  abstract connected(worker: WorkerRef): void;

  /** The worker may have a free slot: a task ended, or it reported one, or it no longer drains. Never throws; not awaited. */
  abstract slotFreed(worker: WorkerRef): void;

  /** `waitedMs`: how long ago the frame arrived, which is when the claim counts. */
  abstract claimed(worker: WorkerRef, data: TaskClaimed['data'], waitedMs: number): Promise<void>;

  abstract rejected(worker: WorkerRef, data: TaskRejected['data']): Promise<void>;

  abstract completed(worker: WorkerRef, data: TaskCompleted['data']): Promise<void>;

  abstract failed(worker: WorkerRef, data: TaskFailed['data']): Promise<void>;

  /** What a worker that has connected again must do with each task that it still runs. */
  abstract reconcile(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { verdict: Verdict })[]>;

  /** The wanted state of each task that it reports. */
  abstract desired(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { desired: Desired })[]>;

  /** How many runs a connection has claimed that have not ended. */
  abstract executing(worker: WorkerRef): Promise<number>;

  /** These connections have sent something since the last call: the leases of their executions are renewed. */
  abstract alive(connectionIds: readonly string[]): Promise<void>;

  /** Frames of these connections wait to be handled: their offers do not expire meanwhile. */
  abstract unread(connectionIds: readonly string[]): Promise<void>;

  /** The process of the worker ends: no other connection can report what this one holds. */
  abstract leaving(worker: WorkerRef): Promise<void>;

  /** The same, after all its frames were handled: runs that it has not claimed return to the queue. */
  abstract left(worker: WorkerRef): Promise<void>;
}
