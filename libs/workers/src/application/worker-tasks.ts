import type {
  Desired,
  TaskClaimed,
  TaskCompleted,
  TaskFailed,
  TaskRef,
  TaskRejected,
  Verdict,
} from '#libs/worker-protocol';
import type { WorkerRef } from '../domain/worker-ref.js';

/**
 * What connected workers say about tasks, told to whoever places runs on them. Every call is idempotent: a frame may
 * come twice, late, or about an execution that is not the run's current one any more; then it changes nothing.
 *
 * The calls about one connection come one after the other, those of different connections at once. A call that rejects
 * is logged with the connection left open; the worker's next beat or reconnect puts right what was missed.
 */
export abstract class WorkerTasks {
  /** Something may be offered to it from now on. Neither throws nor is waited for. */
  abstract connected(worker: WorkerRef): void;

  /** It may have room again: a task ended, it said so, or it drains no longer. Neither throws nor is waited for. */
  abstract roomAgain(worker: WorkerRef): void;

  abstract claimed(worker: WorkerRef, data: TaskClaimed['data']): Promise<void>;

  abstract rejected(worker: WorkerRef, data: TaskRejected['data']): Promise<void>;

  abstract completed(worker: WorkerRef, data: TaskCompleted['data']): Promise<void>;

  abstract failed(worker: WorkerRef, data: TaskFailed['data']): Promise<void>;

  /** What a worker that has come back is to do with each task it still runs. */
  abstract reconcile(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { verdict: Verdict })[]>;

  /** What is wanted of each task that it says it runs. */
  abstract desired(worker: WorkerRef, tasks: readonly TaskRef[]): Promise<(TaskRef & { desired: Desired })[]>;

  /** These connections have given a sign of life since the last call: the leases of what they execute live on. */
  abstract alive(connectionIds: readonly string[]): Promise<void>;
}
