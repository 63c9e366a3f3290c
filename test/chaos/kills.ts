import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../../libs/testing/src/chance.js';
import type { Target } from './installation.js';

/** Kills at random until it is stopped. Every kind has its turn before one has a second. */
export class Kills {
  readonly counts: Record<string, number> = {};
  private readonly stopped = new AbortController();
  private loop: Promise<void> = Promise.resolve();
  private round: Target[] = [];

  constructor(
    private readonly targets: readonly Target[],
    private readonly chance: Chance,
    private readonly intervalMs: { readonly min: number; readonly max: number },
    /** Called after each kill; the interval begins when it resolves. */
    private readonly afterKill: (target: Target) => Promise<void>,
  ) {
    for (const { name } of targets) this.counts[name] = 0;
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.loop;
  }

  private async run(): Promise<void> {
    const { min, max } = this.intervalMs;
    for (;;) {
      await delay(min + this.chance.next() * (max - min), null, { signal: this.stopped.signal }).catch(() => undefined);
      if (this.stopped.signal.aborted) return;
      await this.killNext();
    }
  }

  /** Kinds of which nothing exists right now, such as an agent, keep their turn. */
  private async killNext(): Promise<void> {
    if (this.round.length === 0) this.round = shuffled(this.targets, this.chance);
    for (const target of this.round) {
      if (!(await target.kill())) continue;
      this.counts[target.name] = (this.counts[target.name] ?? 0) + 1;
      this.round = this.round.filter((other) => other !== target);
      await this.afterKill(target);
      return;
    }
    this.round = [];
  }
}

function shuffled<T>(values: readonly T[], chance: Chance): T[] {
  return values
    .map((value) => ({ value, order: chance.next() }))
    .sort((one, other) => one.order - other.order)
    .map(({ value }) => value);
}
