import { ExtensionPoint } from '#platform/kernel';
import type { RETIRE_SIGNAL } from '#execution/runner';
import type { RunnerHandover } from '#execution/runner-protocol';

/** What a backend adds to the hand-over of a runner: the directory, the user and the environment in which it works. */
export type RunnerPlace = Pick<RunnerHandover, 'workspace_dir'> &
  Partial<Pick<RunnerHandover, 'base_url' | 'git' | 'place_env' | 'run_as'>>;

/** Processors and GiB of memory that a run asks for. The limits of the backend have priority. */
export interface InstanceShape {
  readonly vcpus?: number | undefined;
  readonly memory_gb?: number | undefined;
}

/** What is requested, at most the limit; the limit when nothing is requested. */
export const limited = (limit: number, requested: number | undefined): number =>
  requested !== undefined && requested > 0 ? Math.min(limit, requested) : limit;

export interface BackendTask {
  /** Decimal. */
  readonly executionId: string;
  /** Image of the run's environment; null: the default image. Only backends that use images call it. */
  image(): Promise<string | null>;
  readonly shape?: InstanceShape | undefined;
  /** The hand-over that the runner reads, with the token of the execution. */
  handover(place: RunnerPlace): RunnerHandover;
}

export type TaskEnd =
  /** The runner exited; its code says whether it has reported the end (RUNNER_EXIT). */
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** A requirement of the run is not available, such as an image; the run fails. */
  | { readonly kind: 'setup_failed'; readonly message: string; readonly exitCode?: number }
  /** The runner was ended because of its agent, for example out of memory; the run fails. */
  | { readonly kind: 'agent_failed'; readonly message: string; readonly exitCode: number }
  /**
   * There is no runner any more, and its exit code is unknown. `reason`: a stable word for the log of the execution; `hint`:
   * what an operator can do.
   */
  | {
      readonly kind: 'vanished';
      readonly reason: string;
      readonly message: string;
      readonly hint?: string | undefined;
    };

/** Plain values by which a later process of the host finds the runner. */
export type TaskHandle = Readonly<Record<string, string | number>>;

export type RunnerSignal = 'SIGTERM' | 'SIGKILL' | typeof RETIRE_SIGNAL;

/** A started runner. */
export interface RunningTask {
  readonly handle: TaskHandle;
  /** Passes the hand-over to the runner, once. The execution begins with this call. */
  begin(): Promise<void>;
  /**
   * Resolves when the program of the runner was started; not at all if it never is. Only where that may take long
   * after {@link begin}, for example because an image is pulled.
   */
  readonly launched?: Promise<void>;
  /** SIGTERM ends the runner in order. After SIGKILL the backend removes the remaining processes and files. */
  signal(signal: RunnerSignal): void;
  /** Resolves, and never rejects, when the runner has exited and no process or file of the execution remains. */
  readonly ended: Promise<TaskEnd>;
}

/** An execution of which something exists. */
export interface FoundTask {
  readonly executionId: string;
  readonly handle: TaskHandle;
  /**
   * `created`: its runner has not been started yet. `orphaned`: the process of the host that started it no longer exists;
   * {@link Backend.reattach} finds out whether its runner does. `unknown`: the backend cannot see whether its runner is alive.
   */
  readonly state: 'created' | 'running' | 'orphaned' | 'stopped' | 'unknown';
}

/**
 * Extension point: where runners are started: as processes of this machine, in containers, in a cluster. The hosts are the processor, for
 * hosted runs, and `headrace worker`. Every method may be called concurrently for several executions.
 */
@ExtensionPoint()
export abstract class Backend {
  /** The name that selects it, such as `process`. */
  abstract readonly name: string;
  /** How long a runner tries to claim its execution, in multiples of CLAIM_DEADLINE. */
  abstract readonly claimDeadlines: number;
  /** False: nothing can be started for the time being, and runs are better left in the queue. */
  abstract readonly isReady: boolean;
  /** Called once, first. Rejects with a BackendFault for options that cannot work. */
  abstract prepare(): Promise<void>;
  /** Updates {@link isReady}; hosts call it every few seconds. Resolves with whether it has become ready. Never rejects. */
  abstract check(): Promise<boolean>;
  /**
   * Starts a runner that waits for its hand-over. Rejects without leaving anything behind, with a SetupFault when a
   * requirement of the run is the cause, and with a StartFault otherwise. `signal` ends the start.
   */
  abstract start(task: BackendTask, signal: AbortSignal): Promise<RunningTask>;
  /** The runner that an earlier process of the host has started; null when it no longer exists. */
  abstract reattach(executionId: string, handle: TaskHandle): Promise<RunningTask | null>;
  /** Executions of this installation of which something exists. Rejects when they cannot be listed now. */
  abstract list(): Promise<FoundTask[]>;
  /** Removes the remaining processes and files of an execution. May be repeated. */
  abstract remove(executionId: string, handle?: TaskHandle): Promise<void>;
  /** Called once, last: ends what waits for further executions. */
  close?(): void;
}

/** A requirement of the run is not available: the run fails with `environment_setup_failed` and this message. */
export class SetupFault extends Error {
  override name = 'SetupFault';
}

/** The runner could not be started now. `reason`: a stable word for the log; `hint`: what an operator can do. */
export class StartFault extends Error {
  override name = 'StartFault';

  constructor(
    readonly reason: string,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** The backend cannot execute anything; the message says what the operator has to do. */
export class BackendFault extends Error {
  override name = 'BackendFault';
}

/** What a start rejects with whose signal is aborted. */
export const startStopped = (): StartFault => new StartFault('runner_stopped', 'The start was stopped.');

/** Rejects with a StartFault as soon as `signal` is aborted; `work` continues without effect. */
export async function orStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw startStopped();
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(startStopped());
    signal.addEventListener('abort', onAbort, { once: true });
  });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** The end of an execution whose start was rejected with `error`. */
export function failedStart(error: unknown): TaskEnd {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SetupFault) return { kind: 'setup_failed', message };
  if (error instanceof StartFault) return { kind: 'vanished', reason: error.reason, message, hint: error.hint };
  return { kind: 'vanished', reason: 'runner_not_started', message };
}
