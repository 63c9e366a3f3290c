import type { Settings } from '#platform/config';
import type { BackgroundTasks, PeriodicTask } from '#platform/jobs';

const MAX_CONCURRENT = 16;

export interface Sender<Item> {
  claim(limit: number): Promise<readonly Item[]>;
  send(item: Item, signal: AbortSignal): Promise<void>;
}

/** Each run of the task begins what can begin, and the end of an attempt causes a run. */
export class Attempts<Item> {
  private readonly task: PeriodicTask;
  private readonly ending = new AbortController();
  private readonly attempts = new Set<Promise<void>>();

  constructor(
    tasks: BackgroundTasks,
    definition: Parameters<BackgroundTasks['implement']>[0],
    private readonly sender: Sender<Item>,
    private readonly settings: Settings,
  ) {
    this.task = tasks.implement(definition, () => this.begin());
  }

  /** Lets the attempts under way end within the grace period, then aborts them: another process repeats them. */
  async stop(): Promise<void> {
    await this.task.stop();
    const timeout = setTimeout(() => this.ending.abort(), this.settings.shutdownGrace);
    await Promise.all(this.attempts);
    clearTimeout(timeout);
  }

  private async begin(): Promise<void> {
    const free = MAX_CONCURRENT - this.attempts.size;
    if (free === 0) return;
    for (const item of await this.sender.claim(free)) this.attempt(item);
  }

  private attempt(item: Item): void {
    const attempt = this.sender
      .send(item, this.ending.signal)
      .catch((error: unknown) => this.task.report(error))
      .finally(() => {
        this.attempts.delete(attempt);
        this.task.wake();
      });
    this.attempts.add(attempt);
  }
}
