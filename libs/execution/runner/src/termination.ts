import type { FinishRequest, TurnEnded } from '#execution/runner-protocol';
import type { AgentFailure } from './acp/model-failure.js';

/**
 * How processes are stopped: `close` ends the session of an idle agent, `graceful` escalates from session/cancel over
 * SIGTERM to SIGKILL, `kill` sends SIGKILL at once, `fence` too, and reports nothing any more.
 */
export type StopMode = 'close' | 'graceful' | 'kill' | 'fence';

export type TurnEnd = Omit<TurnEnded, 'turn_id'>;

export interface ExecutionEnd {
  readonly stopMode: StopMode;
  readonly report: Omit<FinishRequest, 'lease_epoch'>;
  readonly openTurn: TurnEnd;
}

const SEVERITY: readonly StopMode[] = ['close', 'graceful', 'kill', 'fence'];

/** Thrown into pending waits when the end of the execution has been decided. */
export class TerminatedError extends Error {}

/** Decides the end of an execution: the first decision is final, a later one can only make it faster. */
export class Termination {
  ending: ExecutionEnd | null = null;
  private readonly halting = new AbortController();
  private readonly hurrying = new AbortController();
  readonly signal: AbortSignal = this.halting.signal;
  /** Aborts when processes must be killed at once. */
  readonly urgent: AbortSignal = this.hurrying.signal;
  private readonly halted: Promise<never>;

  constructor() {
    this.halted = new Promise((_resolve, reject) => {
      this.halting.signal.addEventListener('abort', () => reject(new TerminatedError('The end has been decided.')));
    });
    this.halted.catch(() => undefined);
  }

  decide(ending: ExecutionEnd): void {
    if (this.ending === null) this.ending = ending;
    else if (SEVERITY.indexOf(ending.stopMode) > SEVERITY.indexOf(this.ending.stopMode)) {
      this.ending = { ...this.ending, stopMode: ending.stopMode };
    }
    if (SEVERITY.indexOf(ending.stopMode) >= SEVERITY.indexOf('kill')) this.hurrying.abort();
    this.halting.abort();
  }

  get isFenced(): boolean {
    return this.ending?.stopMode === 'fence';
  }

  /** The promise's result, unless the end is decided first; then it rejects with TerminatedError. */
  race<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => undefined);
    return Promise.race([this.halted, promise]);
  }
}

const ending = (
  stopMode: StopMode,
  report: ExecutionEnd['report'],
  openTurn: TurnEnd = { stop_reason: 'cancelled' },
): ExecutionEnd => ({ stopMode, report, openTurn });

export const cancelled = (stopMode: 'graceful' | 'kill', message?: string): ExecutionEnd =>
  ending(stopMode, { outcome: 'cancelled', message });

export const closed = (message?: string): ExecutionEnd => ending('close', { outcome: 'closed', message });

export const failed = (error_code: string, message: string, exit_code?: number): ExecutionEnd =>
  ending('kill', { outcome: 'failed', error_code, message, exit_code });

/** Unlike a fault of the platform, which only the final report contains, this also ends an open turn with an error. */
export const agentFailed = (message: string, { exitCode, ...rest }: AgentFailure['report'] = {}): ExecutionEnd => {
  const failure = { error_code: 'agent_process_failed' as const, ...rest, message };
  const report = { outcome: 'failed' as const, ...failure, exit_code: exitCode };
  return ending('kill', report, { stop_reason: 'error', ...failure });
};

/** An agent that does not answer the cancel of its turn has no state in which a session could continue. */
export const interruptUnanswered = (timeoutSeconds: number): ExecutionEnd => {
  const message = `The agent did not end its turn within ${timeoutSeconds} s of an interrupt, and was stopped.`;
  const failure = { error_code: 'agent_process_failed' as const, message };
  const openTurn: TurnEnd = { stop_reason: 'error', interrupt: 'unanswered', ...failure };
  return ending('graceful', { outcome: 'failed', ...failure }, openTurn);
};

export const handedBack = (message?: string): ExecutionEnd => ending('graceful', { outcome: 'handed_back', message });

/** The runner is stopped while the agent works. An `error` turn would blame the agent, so the turn is cancelled. */
export const stopped = (): ExecutionEnd => {
  const message = 'The runner was stopped before the agent had finished.';
  return ending('graceful', { outcome: 'failed', error_code: 'infrastructure_timeout', message });
};

export const fenced = (): ExecutionEnd => ending('fence', { outcome: 'failed' });
