import type { HostLog } from '#execution/runner';
import type { RunnerProcess } from './runner-process.js';

/** Starting a runner competes with agents that start, so it waits until none has been used for this time. */
const SETTLE_MS = 1000;

/**
 * Runners that wait for the next execution on standard input: started before there is one, or left by an earlier one. They
 * end when their host does, because the input is closed then.
 */
export class WarmRunners {
  /** The one that was used last is the last. */
  private readonly waiting: RunnerProcess[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly create: () => RunnerProcess,
    private count: number,
    private readonly log: HostLog,
  ) {}

  /** Starts the missing ones. One that ended is replaced when the next one was used, so that a fault does not repeat at once. */
  fill(): void {
    while (this.waiting.length < this.count) {
      const runner = this.create();
      this.waiting.unshift(runner);
      void runner.exited.then(() => this.forget(runner));
    }
  }

  /** A runner that waits, or a new one. */
  next(): RunnerProcess {
    const runner = this.waiting.findLast(({ isAvailable }) => isAvailable) ?? this.create();
    this.forget(runner);
    this.settleSoon();
    return runner;
  }

  /** The execution of the runner has ended and nothing of it exists. All wait until there was no start for a while. */
  release(runner: RunnerProcess): void {
    if (this.count === 0 || !runner.isAvailable) return runner.close();
    this.waiting.push(runner);
    void runner.exited.then(() => this.forget(runner));
    this.settleSoon();
  }

  /** From now on none waits. */
  close(): void {
    this.count = 0;
    clearTimeout(this.timer);
    for (const runner of this.waiting.splice(0)) runner.close();
  }

  private settleSoon(): void {
    clearTimeout(this.timer);
    if (this.count > 0) this.timer = setTimeout(() => this.settle(), SETTLE_MS).unref();
  }

  private settle(): void {
    for (const runner of this.waiting.splice(0, this.waiting.length - this.count)) runner.close();
    try {
      this.fill();
    } catch (error) {
      // For example without memory; the next execution starts its own runner.
      this.log.warn('no runner could be started in advance', { error: String(error) });
    }
  }

  private forget(runner: RunnerProcess): void {
    const index = this.waiting.indexOf(runner);
    if (index >= 0) this.waiting.splice(index, 1);
  }
}
