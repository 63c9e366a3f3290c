/** One open connection of a worker. */
export interface WorkerRef {
  /** UUID of this socket; a worker that comes back has another one. */
  readonly connectionId: string;
  readonly teamUid: string;
  /** Uid of the service account that it connected with. */
  readonly accountUid: string;
  /** The name it connected with; several connections may carry the same. */
  readonly workerHost: string;
  /** Whether it has sent a hello: it reports its slots and what it runs, and is told what is wanted of each task. */
  readonly speaksHello: boolean;
}
