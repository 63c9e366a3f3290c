import type { RETIRE_SIGNAL } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';
import type { TaskAssignmentData } from '#execution/worker-protocol';
import type { JournalEntry } from './journal.js';

/** What a backend knows of the place in which it starts a runner. */
export type RunnerPlace = Pick<RunnerHandover, 'workspace_dir'> &
  Partial<Pick<RunnerHandover, 'run_as' | 'place_env' | 'git'>>;

/** One execution that was claimed. */
export interface ClaimedTask {
  readonly taskId: string;
  /** Decimal. */
  readonly executionId: string;
  /** Marks every process of the execution. */
  readonly cookie: string;
  /** As the server sent it: image, sidecars, shape. Its `env_vars` hold secrets. */
  readonly assignment: TaskAssignmentData;
  /** What the runner reads from its standard input, with the execution's token. */
  handover(place: RunnerPlace): RunnerHandover;
}

export type TaskEnd =
  /** The runner has left; its code tells whether it has reported (RUNNER_EXIT). */
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** What was asked for cannot be had, such as an image; the run fails. */
  | { readonly kind: 'setup_failed'; readonly message: string }
  /** It was ended for what its agent did, such as taking more memory than there is; the run fails. */
  | { readonly kind: 'agent_failed'; readonly message: string; readonly exitCode: number }
  /** It is gone, and nobody saw how. */
  | { readonly kind: 'vanished'; readonly message: string };

/** Plain values, kept in the journal for a later process of the daemon to find the execution by. */
export type TaskHandle = Readonly<Record<string, string | number>>;

export type RunnerSignal = 'SIGTERM' | 'SIGKILL' | typeof RETIRE_SIGNAL;

/** A runner of an execution. */
export interface BackendTask {
  readonly handle: TaskHandle;
  /** Gives the runner its hand-over; once, when the journal has the handle. Before this call nothing of the run happens. */
  begin(): Promise<void>;
  /** The runner understands all but SIGKILL: SIGTERM ends it in order. After SIGKILL what is left is cleared. */
  signal(signal: RunnerSignal): void;
  /** Resolves, and never rejects, when the runner has left and nothing of the execution remains. */
  readonly ended: Promise<TaskEnd>;
}

/** Where executions run. Every method may be called for several executions at once. */
export interface Backend {
  /** As told to the server: `process`, `docker`. */
  readonly name: string;
  /** Once, before anything else. Rejects with WorkerFault when nothing could run here. */
  prepare(): Promise<void>;
  /**
   * Makes everything ready up to a runner that waits for its hand-over. Rejects when that fails, with SetupFault when it is
   * for what the run asks for; nothing is left then.
   */
  launch(task: ClaimedTask): Promise<BackendTask>;
  /** The runner of an earlier process of the daemon; null when it does not live any more. */
  reattach(entry: JournalEntry): Promise<BackendTask | null>;
  /** Removes processes and files of an execution, whatever is left. May be repeated. */
  clear(entry: JournalEntry): Promise<void>;
  /** At the end, with no execution left or to be left running. */
  close(): Promise<void>;
}

/** What a run asks for cannot be had here: the run fails with `environment_setup_failed` and this message. */
export class SetupFault extends Error {}

/** The daemon cannot work this way; the message tells whoever started it what to do. */
export class WorkerFault extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = 'WorkerFault';
  }
}
