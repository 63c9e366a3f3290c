import type { FinishRequest, TurnEnded } from '#execution/runner-protocol';
import type { AgentFailure } from './harness/launch.js';

/**
 * How the processes are brought down: `close` lets an idle agent leave, `ladder` asks, then SIGTERM, then SIGKILL,
 * `kill` is SIGKILL at once, `fence` too, and nothing is reported any more.
 */
export type StopMode = 'close' | 'ladder' | 'kill' | 'fence';

/** How a turn ended, whichever it was. */
export type TurnEnd = Omit<TurnEnded, 'turn_id'>;

export interface ExecutionEnd {
  readonly stopMode: StopMode;
  readonly report: Omit<FinishRequest, 'lease_epoch'>;
  /** How a turn that is open at the end is closed in the log. */
  readonly openTurn: TurnEnd;
}

const SEVERITY: readonly StopMode[] = ['close', 'ladder', 'kill', 'fence'];

/** Thrown into whatever waits when the end has been decided elsewhere. */
export class TerminatedError extends Error {}

/** The one place where the end of an execution is decided: the first word stands, a later one can only make it quicker. */
export class Termination {
  private decided: ExecutionEnd | null = null;
  private readonly halting = new AbortController();
  private readonly hurrying = new AbortController();
  private readonly halted: Promise<never>;

  constructor() {
    this.halted = new Promise((_resolve, reject) => {
      this.halting.signal.addEventListener('abort', () => reject(new TerminatedError('The end has been decided.')));
    });
    this.halted.catch(() => undefined);
  }

  decide(ending: ExecutionEnd): void {
    if (this.decided === null) this.decided = ending;
    else if (SEVERITY.indexOf(ending.stopMode) > SEVERITY.indexOf(this.decided.stopMode)) {
      this.decided = { ...this.decided, stopMode: ending.stopMode };
    }
    if (SEVERITY.indexOf(ending.stopMode) >= SEVERITY.indexOf('kill')) this.hurrying.abort();
    this.halting.abort();
  }

  get ending(): ExecutionEnd | null {
    return this.decided;
  }

  get isFenced(): boolean {
    return this.decided?.stopMode === 'fence';
  }

  /** Aborts when the end is decided. */
  get signal(): AbortSignal {
    return this.halting.signal;
  }

  /** Aborts when there is no time for manners any more. */
  get urgent(): AbortSignal {
    return this.hurrying.signal;
  }

  /** The promise's result, unless the end is decided first: then TerminatedError. */
  race<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    return Promise.race([this.halted, promise]);
  }
}

export const cancelled = (stopMode: 'ladder' | 'kill', reason?: string): ExecutionEnd => ({
  stopMode,
  report: { outcome: 'cancelled', ...(reason === undefined ? {} : { message: reason }) },
  openTurn: { stop_reason: 'cancelled' },
});

export const closed = (message?: string): ExecutionEnd => ({
  stopMode: 'close',
  report: { outcome: 'closed', ...(message === undefined ? {} : { message }) },
  openTurn: { stop_reason: 'cancelled' },
});

export const failed = (errorCode: string, message: string, exitCode?: number): ExecutionEnd => ({
  stopMode: 'kill',
  report: {
    outcome: 'failed',
    error_code: errorCode,
    message,
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
  },
  openTurn: { stop_reason: 'cancelled' },
});

/** Unlike a fault of the platform, which the final report alone tells, this also ends an open turn with an error. */
export const agentFailed = (message: string, report: AgentFailure['report'] = {}): ExecutionEnd => {
  const { exitCode, ...rest } = report;
  const told = { error_code: 'agent_process_failed' as const, ...rest, message };
  return {
    stopMode: 'kill',
    report: { outcome: 'failed', ...told, ...(exitCode === undefined ? {} : { exit_code: exitCode }) },
    openTurn: { stop_reason: 'error', ...told },
  };
};

export const handedBack = (message?: string): ExecutionEnd => ({
  stopMode: 'ladder',
  report: { outcome: 'handed_back', ...(message === undefined ? {} : { message }) },
  openTurn: { stop_reason: 'cancelled' },
});

/** The runner is told to stop while the agent works. An `error` turn would blame the agent, so the turn is cancelled. */
export const stopped = (): ExecutionEnd => ({
  stopMode: 'ladder',
  report: {
    outcome: 'failed',
    error_code: 'infrastructure_timeout',
    message: 'The runner was stopped before the agent had finished.',
  },
  openTurn: { stop_reason: 'cancelled' },
});

export const fenced = (): ExecutionEnd => ({
  stopMode: 'fence',
  report: { outcome: 'failed' },
  openTurn: { stop_reason: 'cancelled' },
});
