import type { HostLog } from '#execution/runner';
import { identify } from '#platform/kernel';
import type { RunnerProcess } from './runner-process.js';

/** Starting a runner competes with agents that start, so it waits until none has been started for this time. */
const REFILL_MS = 1000;

/**
 * Runners that are started before there is an execution for them. They wait for a hand-over on standard input, and end when
 * their host does, because the input is closed then.
 */
export class WarmRunners {
  private readonly spare: RunnerProcess[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly create: () => RunnerProcess,
    private readonly count: number,
    private readonly log: HostLog,
  ) {}

  /** Starts the missing ones. One that ended is replaced when the next one was used, so that a fault does not repeat at once. */
  fill(): void {
    while (this.spare.length < this.count) {
      const runner = this.create();
      this.spare.push(runner);
      void runner.exited.then(() => this.remove(runner));
    }
  }

  /** A runner that waits, or a new one. */
  next(): RunnerProcess {
    const runner = this.spare.find(({ pid }) => pid !== undefined && identify(pid) !== null) ?? this.create();
    this.remove(runner);
    clearTimeout(this.timer);
    if (this.count > 0) this.timer = setTimeout(() => this.refill(), REFILL_MS).unref();
    return runner;
  }

  private refill(): void {
    try {
      this.fill();
    } catch (error) {
      // For example without memory; the next execution starts its own runner.
      this.log.warn('no runner could be started in advance', { error: String(error) });
    }
  }

  private remove(runner: RunnerProcess): void {
    const index = this.spare.indexOf(runner);
    if (index >= 0) this.spare.splice(index, 1);
  }
}
