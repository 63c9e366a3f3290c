import {
  type Backend,
  type BackendTask,
  failedStart,
  type HostLog,
  type RunnerSignal,
  type RunningTask,
  startStopped,
  type TaskEnd,
  unreachableApiMessage,
} from '#execution/backends';
import { RUNNER_EXIT } from '#execution/runner';
import type { Settings } from '#platform/config';
import type { HostedExecutionsStore } from '../persistence/hosted-executions.store.js';
import type { StartedRunner } from './drain-runners.js';
import type { FinishExecution } from './finish-execution.js';
import type { RunnerStartLimiter } from './runner-start-limiter.js';

/** An execution that was placed on this process. */
export interface Offer {
  readonly executionId: string;
  readonly runId: string;
}

export interface HostedTaskOptions {
  readonly backend: Backend;
  readonly task: BackendTask;
  readonly executions: HostedExecutionsStore;
  readonly finish: FinishExecution;
  readonly starts: RunnerStartLimiter;
  readonly settings: Settings;
  readonly log: HostLog;
}

/** One hosted execution, from its offer until nothing of it exists on the backend. */
export class HostedTask implements StartedRunner {
  readonly gone: Promise<void>;
  /** Ends a start that has not been completed. */
  private readonly stop = new AbortController();
  private runner: RunningTask | null = null;

  constructor(
    private readonly offer: Offer,
    private readonly options: HostedTaskOptions,
  ) {
    this.gone = this.execute().catch((error: unknown) =>
      options.log.warn('an execution is left to its lease', { ...this.ids, error: String(error) }),
    );
  }

  signal(signal: RunnerSignal): void {
    this.stop.abort();
    this.runner?.signal(signal);
  }

  private get ids(): { execution_id: string; run_id: string } {
    return { execution_id: this.offer.executionId, run_id: this.offer.runId };
  }

  private async execute(): Promise<void> {
    const end = await this.untilEnd().finally(() => this.options.starts.gone(this.offer.executionId));
    await this.report(end);
  }

  private async untilEnd(): Promise<TaskEnd> {
    const { backend, task, settings, starts, log } = this.options;
    const { executionId } = this.offer;
    // A start may take longer than an offer waits, for example while an image is pulled.
    const keeper = setInterval(() => void this.keepOffer(), settings.claimDeadline / 3);
    try {
      this.runner = await backend.start(task, this.stop.signal);
    } catch (error) {
      return failedStart(error);
    } finally {
      clearInterval(keeper);
    }
    if (this.stop.signal.aborted) {
      this.runner.signal('SIGKILL');
      await this.runner.ended;
      return failedStart(startStopped());
    }
    starts.started(executionId);
    log.info('runner started', { ...this.ids, ...this.runner.handle });
    await this.runner.begin();
    return this.runner.ended;
  }

  private async report(end: TaskEnd): Promise<void> {
    const { finish, log, settings } = this.options;
    const { executionId } = this.offer;
    if (end.kind === 'exited' && end.code === RUNNER_EXIT.reported) return;
    if (end.kind === 'setup_failed' || end.kind === 'agent_failed') {
      const { message, exitCode } = end;
      const code = end.kind === 'setup_failed' ? 'environment_setup_failed' : 'agent_process_failed';
      log.warn('execution failed', { ...this.ids, code, problem: message });
      await finish.fail(executionId, { code, message, ...(exitCode === undefined ? {} : { exitCode }) });
      return;
    }
    const { reason, hint, ...cause } = lossOf(end, settings);
    log.warn('runner ended', { ...this.ids, ...cause, reason, hint });
    await finish.lose(executionId, reason, { detail: hint });
  }

  /** An offer that has lapsed ends the start. */
  private async keepOffer(): Promise<void> {
    const { executions, log } = this.options;
    try {
      if (!(await executions.keepOffer(this.offer.executionId))) this.stop.abort();
    } catch (error) {
      log.debug('an offer was not extended', { ...this.ids, error: String(error) });
    }
  }
}

function lossOf(end: Extract<TaskEnd, { kind: 'exited' | 'vanished' }>, { runnerApiUrl }: Settings) {
  if (end.kind === 'vanished') return { reason: end.reason, problem: end.message, hint: end.hint };
  const { code, signal } = end;
  const reason = signal === null ? `runner_exit_${code}` : `runner_${signal.toLowerCase()}`;
  return {
    reason,
    code,
    signal,
    hint: code === RUNNER_EXIT.notClaimed ? unreachableApiMessage(runnerApiUrl) : undefined,
  };
}
