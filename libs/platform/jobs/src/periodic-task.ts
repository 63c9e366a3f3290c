import { Logger } from '@nestjs/common';
import { isDatabaseUnavailable } from '#platform/persistence';
import { type TaskDefinition, taskKey } from './task-definition.js';

/**
 * One run of a task. `again`: there is more to do, and the next run follows at once. The signal is aborted when the
 * process stops: the run ends after its current step. `cause` is known of tasks of the scope `process`.
 */
export type TaskRun = (signal: AbortSignal, cause: 'period' | 'wake-up') => Promise<'again' | void>;

/** Observes the runs of tasks; `seconds`: how long the run took. */
export type TaskObserver = (task: string, result: 'succeeded' | 'failed', seconds: number) => void;

/** A task of this process: one run at a time, by a period and by wake-ups. */
export class PeriodicTask {
  private readonly logger: Logger;
  private readonly ending = new AbortController();
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private runAgain = false;
  private isPeriodOver = false;

  constructor(
    readonly definition: TaskDefinition,
    private readonly run: TaskRun,
    private readonly observer: TaskObserver,
  ) {
    this.logger = new Logger(taskKey(definition));
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Runs it from now on; the first time after a period, which is skipped while a run is under way. */
  start(periodMs: number): NodeJS.Timeout {
    this.timer ??= setInterval(() => {
      if (this.running) return;
      this.isPeriodOver = true;
      this.wake();
    }, periodMs);
    return this.timer;
  }

  /** Runs it now, or once more after the run under way. Does nothing before the start and after the stop. Never throws. */
  wake(): void {
    void this.wakeAndWait();
  }

  /** The same; resolves when the task is idle again. */
  async wakeAndWait(): Promise<void> {
    if (!this.timer || this.signal.aborted) return;
    if (this.running) this.runAgain = true;
    this.running ??= this.runUntilIdle();
    await this.running;
  }

  /** Runs it once, for a job of the cluster; a job that arrives during a run waits for its end. */
  async runAsJob(): Promise<'again' | void> {
    while (this.running) await this.running;
    if (this.signal.aborted) return;
    const run = this.runOnce();
    this.running = run.then(() => {
      this.running = null;
    });
    return run;
  }

  /** Waits for the run under way. */
  async stop(): Promise<void> {
    this.ending.abort();
    if (this.timer) clearInterval(this.timer);
    await this.running;
  }

  /** The next run repeats what failed; during an outage of the database the log would repeat the same line for every task. */
  report(error: unknown): void {
    if (!isDatabaseUnavailable(error)) this.logger.error(error);
  }

  private async runOnce(): Promise<'again' | void> {
    const start = performance.now();
    let result: 'succeeded' | 'failed' = 'succeeded';
    const cause = this.isPeriodOver ? 'period' : 'wake-up';
    this.isPeriodOver = false;
    try {
      return await this.run(this.signal, cause);
    } catch (error) {
      result = 'failed';
      this.report(error);
    } finally {
      this.observer(taskKey(this.definition), result, (performance.now() - start) / 1000);
    }
  }

  private async runUntilIdle(): Promise<void> {
    do {
      this.runAgain = false;
      if ((await this.runOnce()) === 'again') this.runAgain = true;
    } while (this.runAgain && !this.signal.aborted);
    this.running = null;
  }
}
