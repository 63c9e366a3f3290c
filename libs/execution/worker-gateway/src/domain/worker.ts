import type { Hello } from '#execution/worker-protocol';

/** One open connection of a worker. */
export interface WorkerRef {
  /** UUID of this connection; a worker that connects again has another one. */
  readonly connectionId: string;
  readonly teamUid: string;
  /** Uid of the service account that it connected with. */
  readonly accountUid: string;
  /** The name of the worker; several connections can have the same. */
  readonly workerHost: string;
  /** Whether it has sent a hello frame: it then reports its slots and tasks, and receives the wanted state of each task. */
  readonly speaksHello: boolean;
}

/** What a worker has reported about itself in its hello frame; unknown for a worker that sends none. */
export type WorkerReport = Omit<Hello['data'], 'tasks'>;
