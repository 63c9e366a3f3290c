import type { RETIRE_SIGNAL } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { TaskAssignmentData } from '#execution/worker-protocol';
import type { JournalEntry } from './journal.js';

/** Directory and environment in which a backend starts a runner. */
export type RunnerPlace = Pick<RunnerHandover, 'workspace_dir'> &
  Partial<Pick<RunnerHandover, 'run_as' | 'place_env' | 'git'>>;

export interface ClaimedTask {
  readonly taskId: string;
  /** Decimal. */
  readonly executionId: string;
  /** Execution marker in the environment of every process of the execution. */
  readonly marker: string;
  /** The assignment of the server: image, sidecars, shape. Its `env_vars` contain secrets. */
  readonly assignment: TaskAssignmentData;
  /** The hand-over that the runner reads from standard input, with the token of the execution. */
  handover(place: RunnerPlace): RunnerHandover;
}

export type TaskEnd =
  /** The runner exited; its code says whether it has reported the end (RUNNER_EXIT). */
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** A requirement of the run is not available, such as an image; the run fails. */
  | { readonly kind: 'setup_failed'; readonly message: string }
  /** The runner was ended because of its agent, for example out of memory; the run fails. */
  | { readonly kind: 'agent_failed'; readonly message: string; readonly exitCode: number }
  /** The runner no longer exists, and its exit code is unknown. */
  | { readonly kind: 'vanished'; readonly message: string };

/** Plain values in the journal, by which a later process of the daemon finds the execution. */
export type TaskHandle = Readonly<Record<string, string | number>>;

export type RunnerSignal = 'SIGTERM' | 'SIGKILL' | typeof RETIRE_SIGNAL;

export interface BackendTask {
  readonly handle: TaskHandle;
  /** Passes the hand-over to the runner, once, after the journal has the handle. The run starts with this call. */
  begin(): Promise<void>;
  /** SIGTERM ends the runner in order. After SIGKILL the backend removes the remaining processes and files. */
  signal(signal: RunnerSignal): void;
  /** Resolves, and never rejects, when the runner has exited and no process or file of the execution remains. */
  readonly ended: Promise<TaskEnd>;
}

/** Executes tasks. Every method may be called concurrently for several executions. */
export interface Backend {
  /** Name that the server receives: `process`, `docker`. */
  readonly name: string;
  /** Called once, first. Rejects with a WorkerFault when the backend cannot execute anything. */
  prepare(): Promise<void>;
  /**
   * Starts a runner that waits for its hand-over. Rejects without leaving anything behind, with a SetupFault when a
   * requirement of the run is the cause.
   */
  launch(task: ClaimedTask): Promise<BackendTask>;
  /** The runner of an earlier process of the daemon; null when it no longer exists. */
  reattach(entry: JournalEntry): Promise<BackendTask | null>;
  /** Removes the remaining processes and files of an execution. May be repeated. */
  clear(entry: JournalEntry): Promise<void>;
  /** Called at the end, without running executions. */
  close(): Promise<void>;
}

/** A requirement of the run is not available: the run fails with `environment_setup_failed` and this message. */
export class SetupFault extends Error {}

/** The daemon cannot run; the message says what its operator has to do. */
export class WorkerFault extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = 'WorkerFault';
  }
}
